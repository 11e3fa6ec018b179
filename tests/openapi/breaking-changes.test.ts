import { readFileSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { breakingChanges } from '../../docs/openapi/breaking-changes.ts'
import { text } from './read-document.ts'

const now: Parsed = JSON.parse(text)
const released = readFileSync(new URL('../../docs/openapi-released.json', import.meta.url), 'utf8')
const API_PAGE = new URL('../../docs/api.md', import.meta.url)

/** docs/api.md gives each with its reason. */
const DELIBERATE = [
  'POST /api/auth/login: answer /refreshToken is required',
  'POST /api/auth/refresh: answer /refreshToken is required',
  'POST /api/auth/accept-invitation: body /phone has maxLength 255',
  'POST /rest/users: body /phone has maxLength 255',
  'PATCH /rest/users/{id}: body /phone has maxLength 255',
  'POST /api/hooks/whatsapp: body /answer/functions has maxItems 50',
]

test('nothing that was released is broken, but for what is given as deliberate', () => {
  expect(breakingChanges(JSON.parse(released), now)).toEqual(DELIBERATE)
  for (const change of DELIBERATE) expect(readFileSync(API_PAGE, 'utf8')).toContain(`\`${change}\``)
})

/** Returns the breaking changes in a changed copy of the present document. */
function after(change: (document: Parsed) => void): string[] {
  const changed = structuredClone(now)
  change(changed)
  return breakingChanges(now, changed)
}

const put = (document: Parsed) => document.paths['/rest/tasks/{id}'].put
const list = (document: Parsed) => document.paths['/rest/tasks'].get
const { schemas: today } = now.components
const named = (document: Parsed, name: string) => document.components.schemas[name]

describe('a change that breaks callers is found:', () => {
  test.each<[string, string, (document: Parsed) => void]>([
    ['a path is gone', 'GET /rest/check is gone', (d) => delete d.paths['/rest/check']],
    ['an operation is gone', 'PUT /rest/tasks/{id} is gone', (d) => delete d.paths['/rest/tasks/{id}'].put],
    [
      'a token is wanted',
      'POST /api/auth/login: wants a token',
      (d) => delete d.paths['/api/auth/login'].post.security,
    ],
    [
      'a parameter is gone',
      'GET /rest/tasks: parameter status is gone',
      (d) => {
        list(d).parameters = list(d).parameters.filter(({ name }: { name: string }) => name !== 'status')
      },
    ],
    [
      'a parameter must be sent',
      'GET /rest/tasks: parameter status is required',
      (d) => {
        list(d).parameters.find(({ name }: { name: string }) => name === 'status').required = true
      },
    ],
    [
      'a new parameter must be sent',
      'GET /rest/tasks: parameter x is required',
      (d) => {
        list(d).parameters.push({ in: 'query', name: 'x', required: true, schema: { type: 'string' } })
      },
    ],
    [
      'a parameter takes less',
      'GET /rest/tasks: parameter limit has maximum 100',
      (d) => {
        list(d).parameters.find(({ name }: { name: string }) => name === 'limit').schema.maximum = 100
      },
    ],
    [
      'a body must be sent',
      'POST /api/auth/me: a body is required',
      (d) => {
        d.paths['/api/auth/me'].post.requestBody.required = true
      },
    ],
    [
      'a media type is not taken',
      'PATCH /rest/tasks/{id}: a body of application/merge-patch+json is not taken',
      (d) => {
        delete d.paths['/rest/tasks/{id}'].patch.requestBody.content['application/merge-patch+json']
      },
    ],
    [
      'a field must be sent',
      'PUT /rest/tasks/{id}: body /extId is required',
      (d) => {
        named(d, 'TaskBody').required.push('extId')
      },
    ],
    [
      'a field is not taken',
      'PUT /rest/tasks/{id}: body /extId is not taken',
      (d) => {
        delete named(d, 'TaskBody').properties.extId
      },
    ],
    [
      'a field takes another type',
      'PUT /rest/tasks/{id}: body /workflow is string, not integer',
      (d) => {
        named(d, 'TaskBody').properties.workflow = { type: 'string' }
      },
    ],
    [
      'a field is not nullable',
      'PUT /rest/tasks/{id}: body /extId is string, not null',
      (d) => {
        named(d, 'TaskBody').properties.extId = { type: 'string' }
      },
    ],
    [
      'a value is not taken',
      'PUT /rest/tasks/{id}: body /status is not failed any more',
      (d) => {
        named(d, 'TaskBody').properties.status.enum = ['active', 'pending', 'completed', 'cancelled']
      },
    ],
    [
      'a text may be shorter',
      'PUT /rest/tasks/{id}: body /name has maxLength 5',
      (d) => {
        named(d, 'TaskBody').properties.name.maxLength = 5
      },
    ],
    [
      'a text has a pattern',
      'PUT /rest/tasks/{id}: body /name has pattern ^a',
      (d) => {
        named(d, 'TaskBody').properties.name.pattern = '^a'
      },
    ],
    [
      'further fields are not taken',
      'POST /api/hooks/whatsapp: body  takes no further fields',
      (d) => {
        named(d, 'WebhookMessage').additionalProperties = false
      },
    ],
    [
      'another media type is answered',
      'PUT /rest/tasks/{id}: does not answer with application/json',
      (d) => {
        put(d).responses[200].content = { 'text/plain': { schema: { type: 'string' } } }
      },
    ],
    [
      'an answer lacks a field',
      'PUT /rest/tasks/{id}: answer /_id is required',
      (d) => {
        named(d, 'Task').required = named(d, 'Task').required.filter((name: string) => name !== '_id')
      },
    ],
    [
      'an optional field of an answer is gone',
      'PUT /rest/tasks/{id}: answer /extId is gone',
      (d) => {
        delete named(d, 'Task').properties.extId
      },
    ],
    [
      'an inner field of an answer is gone',
      'GET /rest/tasks: answer /data/*/extId is gone',
      (d) => {
        delete named(d, 'TaskRead').properties.extId
      },
    ],
    [
      'an answer may be null',
      'PUT /rest/tasks/{id}: answer /name is string, not null',
      (d) => {
        named(d, 'Task').properties.name.type = ['string', 'null']
      },
    ],
    [
      'an answer has another type',
      'GET /rest/check: answer /data is array, not object',
      (d) => {
        named(d, 'FindingPage').properties.data = { type: 'object' }
      },
    ],
  ])('%s', (_what, listed, change) => {
    expect(after(change)).toContain(listed)
  })
})

describe('a change that breaks nobody is let through:', () => {
  test.each<[string, (document: Parsed) => void]>([
    ['a new path', (d) => (d.paths['/rest/of-its-own'] = d.paths['/rest/jobs'])],
    ['a new optional parameter', (d) => list(d).parameters.push({ in: 'query', name: 'x', schema: {} })],
    ['a new optional field of a body', (d) => (named(d, 'TaskBody').properties.more = { type: 'string' })],
    ['a field that need not be sent any more', (d) => (named(d, 'TaskBody').required = [])],
    ['a body that takes null', (d) => (named(d, 'TaskBody').properties.name.type = ['string', 'null'])],
    ['a new field of an answer', (d) => (named(d, 'Task').properties.more = { type: 'string' })],
    ['a field of an answer that is always there', (d) => named(d, 'Task').required.push('extId')],
    [
      'a new field of a closed answer',
      (d) => (named(d, 'Configuration').properties.resources.properties.more = {}),
    ],
    ['a new value in an answer', (d) => named(d, 'Task').properties.status.enum.push('paused')],
    ['another text', (d) => (put(d).summary = 'Write')],
    [
      'a schema under another name',
      (d) => {
        d.components.schemas.Renamed = structuredClone(today.Task)
        put(d).responses[200].content['application/json'].schema.$ref = '#/components/schemas/Renamed'
      },
    ],
  ])('%s', (_what, change) => {
    expect(after(change)).toEqual([])
  })
})
