import { safeInteger } from '@parley/shared/json-object'
import { cursorOf, encodeCursor, pageLimit } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { requireTag } from '../people/change-person.ts'
import {
  findPerson,
  peopleAccess,
  personName,
  personParameter,
  requireMayWrite,
  requireReadable,
} from '../people/find-person.ts'
import { personExample } from '../people/person-schema.ts'
import { consentHistory } from '../store/consent-history.ts'
import { eraseEverywhere } from './erase-everywhere.ts'
import { exportCursor, exportEverything } from './export-everything.ts'

const one = { tag: 'people', parameters: [personParameter], errors: ['invalid_id', 'not_found'] } as const

const entry = z
  .object({
    _id: z.string(),
    purpose: z.enum(['marketing', 'service']),
    status: z.enum(['granted', 'withdrawn']),
    at: z.iso.datetime(),
    source: z
      .string()
      .describe('Where it was said: `message`, `button`, `provider`, `refusal`, `api` or `import`'),
    text: z.string().optional().describe('The words that it was said with'),
    by: z
      .object({ _id: safeInteger, username: z.string() })
      .optional()
      .describe('The account that wrote it, with `api`'),
  })
  .meta({ id: 'ConsentChange' })
const example = {
  ...{ _id: '48341280-0a59-806f-9695-a1f7fc5fde77', purpose: 'marketing', status: 'withdrawn' },
  ...{ at: '2026-11-02T12:00:00.000Z', source: 'message', text: 'Stop' },
} as const

const listConsent = route({
  ...one,
  method: 'GET',
  path: '/rest/people/{id}/consent',
  access: 'read',
  id: 'listConsent',
  summary: 'Read the history of a person’s consent',
  description: 'The newest first: what was said, when, where, and with which words.',
  query: z.object({ limit: pageLimit, after: cursorOf(z.tuple([z.number(), z.string()])).optional() }),
  response: pageOf('ConsentHistory', entry, example),
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const { connection, authorizer } = dependencies
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const read = await authorizer.require(caller, 'people', 'read')
    const person = requireReadable(read, await findPerson(dependencies, workspace, personName(req.params)))
    const { limit, after: [ms, last] = [] } = asked.query()
    const behind = ms === undefined ? undefined : { at: new Date(ms), _id: last ?? '' }
    const found = await consentHistory(connection, person, { limit: limit + 1, ...(behind && { behind }) })
    const page = found.slice(0, limit)
    const end = found.length > limit ? page.at(-1) : undefined
    const data = page.map(({ workspace: _workspace, person: _person, at, ...change }) => ({
      ...change,
      at: at.toISOString(),
    }))
    res.json({ data, next: end === undefined ? null : encodeCursor([end.at.getTime(), end._id]) })
  },
})

/** Resources that make up all data of a person: a caller who may not have all of it gets none. */
const PARTS = ['people', 'threads', 'messages', 'tasks'] as const

async function requireAll(
  { authorizer }: Pick<Dependencies, 'authorizer'>,
  res: { locals: Record<string, unknown> },
  access: 'read' | 'write',
): Promise<void> {
  for (const part of PARTS) {
    const { kind } = await authorizer.require(callerOf(res), part, access)
    if (kind !== 'all')
      throw new Problem('forbidden', { detail: `The role may not ${access} all ${part}, which this takes.` })
  }
}

const exportPerson = route({
  ...one,
  method: 'GET',
  path: '/rest/people/{id}/export',
  access: 'read',
  id: 'exportPerson',
  summary: 'Export all that is stored of a person',
  description:
    'In every service: the person, their consent and its history, the campaigns that they were in, their threads with what the team noted in them, messages with all that was sent, tasks and notices. It takes a role that may read all people, threads, messages and tasks. It comes in pages, whose lists go on: `next` leads to the next one.',
  query: z.object({ after: exportCursor.optional() }),
  response: {
    schema: z
      .looseObject({
        person: z.looseObject({}).optional(),
        consentHistory: z.array(z.looseObject({})).optional(),
        addressBook: z.array(z.looseObject({})).optional(),
        campaigns: z.array(z.looseObject({})).optional(),
        threads: z.array(z.looseObject({})).optional(),
        notes: z.array(z.looseObject({})).optional(),
        tasks: z.array(z.looseObject({})).optional(),
        notices: z.array(z.looseObject({})).optional(),
        suppressions: z.array(z.looseObject({})).optional(),
        messages: z.array(z.looseObject({})),
        next: z.string().nullable(),
      })
      .meta({ id: 'PersonExport' }),
    example: { person: personExample, consentHistory: [], threads: [], tasks: [], messages: [], next: null },
  },
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    await requireAll(dependencies, res, 'read')
    const workspace = callerOf(res).workspace._id
    const person = await findPerson(dependencies, workspace, personName(req.params))
    if (person === undefined) throw new Problem('not_found')
    res.set('cache-control', 'no-store').json(await exportEverything(dependencies, person, asked.query()))
  },
})

const deletePerson = route({
  ...one,
  method: 'DELETE',
  path: '/rest/people/{id}',
  access: 'write',
  id: 'deletePerson',
  summary: 'Erase a person',
  description:
    'In every service, for good: the person, their consent, threads with their notes, messages, and the context of their tasks; campaigns count what became of their messages as nobody’s. It takes a role that may write all people, threads, messages and tasks. They get no marketing any more, of which a keyed hash of their addresses stays; the log of the broker has their messages for 7 days more. 503 where it takes longer: then it goes on with the next request.',
  parameters: [
    personParameter,
    {
      in: 'header',
      name: 'If-Match',
      description: 'Only where the person still has this tag; 412 otherwise',
      schema: z.string(),
    },
  ],
  response: {
    schema: z.object({ _id: z.uuid(), deleted: z.literal(true) }).meta({ id: 'DeletedPerson' }),
    example: { _id: personExample._id, deleted: true },
  },
  errors: ['invalid_id', 'not_found', 'precondition_failed'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const access = await peopleAccess(dependencies, caller)
    await requireAll(dependencies, res, 'write')
    const name = personName(req.params)
    const person = await findPerson(dependencies, workspace, name)
    // Messages accepted while a person was erased belong to nobody here any more, and still to their address.
    if (person === undefined && 'address' in name)
      await eraseEverywhere(dependencies, { workspace, addresses: [name.address] })
    const found = requireReadable(access.read, person)
    requireMayWrite(access, [found])
    requireTag(req, found)
    await eraseEverywhere(dependencies, found)
    res.json({ _id: found._id, deleted: true })
  },
})

/** The operations on a person's consent, and on all that there is of them. */
export const consentRoutes: readonly Route<Dependencies>[] = [listConsent, exportPerson, deletePerson]
