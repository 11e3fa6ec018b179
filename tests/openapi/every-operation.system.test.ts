import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { responseText } from '@parley/local/testing/response-text'
import type { Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { defined } from '@parley/shared/defined'
import { startConsentServer } from '../../services/dispatcher/test/consent-server.ts'
import { type MediaType, type Named, operations, resolved, schemaErrors } from './read-document.ts'
import { type RunSoFar, standIns } from './stand-ins.ts'

let system: Parley
let run: RunSoFar
let token: string
beforeAll(async () => {
  system = await startParley({
    services: ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns', 'gateway'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } },
  })
  run = {
    consent: await startConsentServer(),
    responses: new Map(),
    call: async (method, path, body) => (await send(method, path, { body })).json,
  }
})
afterAll(async () => {
  await run.consent.close()
  await system.close()
}, 60_000)

interface Sent {
  body?: unknown
  raw?: string
  headers?: Record<string, string>
  authorized?: boolean
}

const JSON_TYPE = 'application/json'

interface HttpResponse {
  status: number
  headers: Headers
  text: string
  json: Parsed
}

async function send(method: string, path: string, options: Sent = {}): Promise<HttpResponse> {
  const { body, authorized = true } = options
  const raw = options.raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const response = await fetch(system.url + path, {
    method,
    headers: {
      ...(authorized && token !== undefined ? { authorization: `Bearer ${token}` } : {}),
      ...(raw === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...defined({ body: raw }),
  })
  const { status, headers } = response
  const text = await responseText(response)
  return {
    status,
    headers,
    text,
    json: /[/+]json\b/.test(headers.get('content-type') ?? '') ? JSON.parse(text) : text,
  }
}

/** The operation as its examples have it, but for what stands in for them in this run. */
async function request({ path, operation }: Named): Promise<{ path: string } & Sent> {
  const [[type = JSON_TYPE, { example = undefined } = {}] = []] = Object.entries(
    operation.requestBody?.content ?? {},
  )
  const standIn = (await standIns[operation.operationId]?.(run, example)) ?? {}
  const given = operation.parameters.map(({ in: place, name, example }) => ({
    place,
    name,
    value: standIn.parameters?.[name] ?? example,
  }))
  const of = (place: string) =>
    given
      .filter((each) => each.place === place && each.value !== undefined)
      .map(({ name, value }) => [name, String(value)] as const)
  const concrete = of('path').reduce(
    (at, [name, value]) => at.replace(`{${name}}`, encodeURIComponent(value)),
    path,
  )
  const query = new URLSearchParams(
    of('query').map(([name, value]): [string, string] => [name, value]),
  ).toString()
  return {
    path: query === '' ? concrete : `${concrete}?${query}`,
    headers: { 'content-type': type, ...Object.fromEntries(of('header')) },
    ...(type === JSON_TYPE ? { body: standIn.body ?? example } : { raw: String(example) }),
  }
}

/** How an answer differs from what the document says of it. */
function differences({ operation }: Named, response: HttpResponse): string[] {
  const described = operation.responses[String(response.status)]
  if (described === undefined) return [`answers ${response.status}, which is not described: ${response.text}`]
  const { content = {}, headers = {} } = resolved(described)
  const type = response.headers.get('content-type')?.split(';', 1)[0] ?? ''
  const media: MediaType | undefined = content[type]
  if (media === undefined) return [`answers with ${type}, described is ${Object.keys(content)}`]
  const always = Object.keys(headers).filter((name) => ALWAYS_SENT.includes(name))
  const missing = always.filter((name) => !response.headers.has(name)).map((name) => `has no ${name}`)
  const how = response.status === 200 ? 'closed' : 'open'
  return [...missing, ...schemaErrors(media.schema, response.json, how)]
}

const ALWAYS_SENT = ['X-Request-Id', 'X-Message-Id', 'WWW-Authenticate', 'Retry-After', 'Cache-Control']
/** Operations that need results of the others, or take them away. */
const LATER = ['acceptInvitation']
const LAST = ['changePassword', 'logout']
const rank = ({ method, operation: { operationId } }: Named) =>
  LAST.includes(operationId) ? 2 : method === 'DELETE' || LATER.includes(operationId) ? 1 : 0
const sequence = operations
  .toSorted((left, right) => rank(left) - rank(right))
  .map((named) => ({ name: `${named.method} ${named.path}`, named }))

describe('against the running system', () => {
  test.each(sequence)('the example of $name works, and is answered as described', async ({ named }) => {
    const { path, ...sent } = await request(named)
    const response = await send(named.method, path, sent)
    expect([path, response.status, differences(named, response)]).toEqual([path, 200, []])
    run.responses.set(named.operation.operationId, response)
    if (named.operation.operationId === 'register') token = response.json.accessToken
  })

  test('what wants a token refuses who has none, as described', async () => {
    const secured = operations.filter(({ operation }) => operation.security === undefined)
    for (const named of secured) {
      const response = await send(named.method, named.path.replaceAll(/[{}]/g, ''), { authorized: false })
      expect([named.path, response.status, differences(named, response)]).toEqual([named.path, 401, []])
    }
    expect(secured.length).toBeGreaterThan(80)
  })

  test('what takes a body refuses one that is none, as described', async () => {
    const taking = operations.filter(
      ({ path, operation }) => operation.requestBody?.content[JSON_TYPE] && !path.includes('{slug}'),
    )
    const { json } = await send('POST', '/api/auth/login', {
      body: { username: 'ana@example.com', password: 'paper staple' },
    })
    token = json.accessToken
    for (const named of taking) {
      const path = named.path.replace('{id}', '1')
      const malformed = await send(named.method, path, { raw: '{' })
      expect([path, malformed.status, differences(named, malformed)]).toEqual([path, 400, []])
      const other = await send(named.method, path, { raw: 'a: 1', headers: { 'content-type': 'text/yaml' } })
      expect([path, other.status, differences(named, other)]).toEqual([path, 415, []])
      const wrong = await send(named.method, path, { body: [] })
      expect([path, [400, 404, 422], differences(named, wrong)]).toEqual([
        path,
        expect.arrayContaining([wrong.status]),
        [],
      ])
    }
    expect(taking.length).toBeGreaterThan(30)
  })
})
