import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { config } from '../../src/config.ts'
import { createAccessTokens } from '../../src/functions/access-tokens.ts'
import { TokenError } from '../../src/functions/request-token.ts'
import { actionOf, agentOf, callTool, secrets, startTools } from '../agent-world.ts'
import { speaking, text, tool } from '../agents/mcp-server.ts'
import { type CallEndpoint, type EndpointCall, startCallEndpoint } from '../call-endpoint.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })
const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS.parse('127.0.0.0/8') })
const tools: ReturnType<typeof startTools>[] = []

/** An authorization server by RFC 6749, and what was asked of it. */
let server: CallEndpoint
let asked: URLSearchParams[]
let authorizations: (string | undefined)[]
/** In seconds. */
let validFor: number
/** The refresh token that it takes, where it rotates them. */
let current: string | undefined
let issue: (res: ServerResponse) => void
let reports: [number, string | undefined][]
let actions = 0
/** By how much the instances' clocks are ahead, in milliseconds. */
let later = 0

beforeAll(async () => {
  server = await startCallEndpoint()
})
afterAll(async () => {
  http.close()
  await server.close()
})
beforeEach(() => {
  server.forget()
  ;[asked, authorizations, reports] = [[], [], []]
  validFor = 3_600
  current = undefined
  later = 0
  actions++
  issue = (res) =>
    give(res, { access_token: `at-${asked.length}`, token_type: 'Bearer', expires_in: validFor })
  server.respond = (call, res) => {
    if (call.path !== '/token') return void res.writeHead(404).end()
    authorize(call, res)
  }
})
afterEach(() => Promise.all(tools.splice(0).map((one) => one.close())))

function authorize({ text, headers }: EndpointCall, res: ServerResponse): void {
  const form = new URLSearchParams(text)
  asked.push(form)
  authorizations.push(headers.authorization)
  if (form.get('grant_type') !== 'refresh_token') return void issue(res)
  if (form.get('refresh_token') !== current)
    return void give(res, { error: 'invalid_grant', error_description: 'used before' }, 400)
  current = `rt-${asked.length}`
  give(res, { access_token: `at-${asked.length}`, expires_in: validFor, refresh_token: current })
}

function give(res: ServerResponse, body: object, status = 200): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

const instance = (name = 'one') =>
  createAccessTokens({
    http,
    collection: database.collections.accessTokens,
    secrets,
    instance: name,
    now: () => Date.now() + later,
    report: ({ _id }, refusal) => void reports.push([_id, refusal]),
  })
const action = () => ({ workspace: 1, _id: actions })
const credentialsOf = (oauth: JsonObject) => {
  const value = { oauth: { clientId: 'c', clientSecret: 's p/c', tokenUrl: `${server.url}/token`, ...oauth } }
  return { value, origins: undefined }
}
const API = { url: 'https://api.example' }
const tokenFrom = async (tokens: ReturnType<typeof instance>, oauth: JsonObject = {}) =>
  (await tokens.filled(action(), credentialsOf(oauth), API))?.value.token

describe('an access token', () => {
  test('is asked for as the client, and used until its end', async () => {
    const tokens = instance()
    expect(await tokenFrom(tokens, { scope: 'orders', audience: 'shop' })).toBe('at-1')
    expect(await tokenFrom(tokens, { scope: 'orders', audience: 'shop' })).toBe('at-1')
    expect(asked.map((form) => Object.fromEntries(form))).toEqual([
      { grant_type: 'client_credentials', scope: 'orders', audience: 'shop' },
    ])
    expect(authorizations).toEqual([`Basic ${btoa('c:s+p%2Fc')}`])
  })

  test('is asked for with the client in the body, where its credentials say so', async () => {
    await tokenFrom(instance(), { authentication: 'body' })
    expect(Object.fromEntries(asked[0] ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'c',
      client_secret: 's p/c',
    })
    expect(authorizations).toEqual([undefined])
  })

  test('is asked for once by many calls of several instances', async () => {
    const instances = ['one', 'two', 'three'].map(instance)
    const calls = Array.from({ length: 30 }, (_, n) => tokenFrom(instances[n % 3] ?? instance()))
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['at-1']))
    expect(asked.length).toBe(1)
  })

  test('is stored sealed, as its refresh token is', async () => {
    current = 'rt-0'
    await tokenFrom(instance(), { refreshToken: 'rt-0' })
    const record = await database.collections.accessTokens.findOne({ _id: `1/${actions}` })
    expect(record?.sealed).toMatch(/^sealed:/)
    expect(JSON.stringify(record)).not.toMatch(/at-1|rt-1|s p/)
  })

  test('is asked for anew before its end, each time with the refresh token that came last', async () => {
    validFor = 30
    current = 'rt-0'
    const instances = ['one', 'two'].map(instance)
    for (let round = 0; round < 5; round++) {
      await Promise.all(instances.map((one) => tokenFrom(one, { refreshToken: 'rt-0' })))
      // One that is known is used for a second at least.
      later += 1_000
    }
    expect(asked.length).toBeGreaterThanOrEqual(5)
    expect(reports.filter(([, refusal]) => refusal !== undefined)).toEqual([])
  })

  test('that is refused is told once, with what the server says, and asked for again when other credentials are stored', async () => {
    issue = (res) => give(res, { error: 'invalid_client', error_description: 's p/c is wrong' }, 401)
    const tokens = instance()
    for (let n = 0; n < 3; n++)
      await expect(tokenFrom(tokens)).rejects.toMatchObject({
        isRefused: true,
        message: 'The authorization server refused with HTTP 401 (invalid_client: •••• is wrong).',
      })
    expect(asked.length).toBe(1)
    expect(reports).toEqual([[actions, expect.stringContaining('invalid_client')]])
    issue = (res) => give(res, { access_token: 'good' })
    expect(await tokenFrom(tokens, { clientSecret: 'right' })).toBe('good')
    expect(reports.at(-1)).toEqual([actions, undefined])
  })

  test.each<[string, (res: ServerResponse) => void, boolean]>([
    ['is unavailable', (res) => give(res, {}, 503), false],
    ['is busy', (res) => give(res, {}, 429), false],
    ['breaks off', (res) => void res.destroy(), false],
    ['answers with a page', (res) => void res.writeHead(200).end('<html>'), true],
    ['gives a token of another type', (res) => give(res, { access_token: 'x', token_type: 'mac' }), true],
    ['answers without end', (res) => void res.writeHead(200).end('x'.repeat(100_000)), false],
  ])('is not had where the server %s', async (_name, answer, isRefused) => {
    issue = answer
    const tokens = instance()
    await expect(tokenFrom(tokens)).rejects.toBeInstanceOf(TokenError)
    await expect(tokenFrom(tokens)).rejects.toMatchObject({ isRefused })
    expect(asked.length).toBe(isRefused ? 1 : 2)
  })

  test('of credentials without a client is what these say', async () => {
    const given = { value: { token: 'own' }, origins: undefined }
    expect(await instance().filled(action(), given, API)).toBe(given)
    expect(await instance().filled(action(), undefined, API)).toBeUndefined()
    await expect(tokenFrom(instance(), { clientId: '' })).rejects.toMatchObject({ isRefused: true })
    await expect(tokenFrom(instance(), { tokenUrl: undefined })).rejects.toMatchObject({
      message: expect.stringContaining('tokenUrl'),
    })
  })
})

describe('a call with an access token', () => {
  const open = async (fields: object) => {
    const started = startTools({ tokens: instance() })
    tools.push(started)
    const configs = new Map([['credentials', credentialsOf({}).value as JsonObject]])
    return started.open(agentOf([actionOf({ _id: actions, configs, ...fields })]))
  }
  const spec = () => `
openapi: 3.0.3
info: { title: t, version: '1' }
servers: [{ url: '${server.url}' }]
security: [{ oauth: [] }]
components: { securitySchemes: { oauth: { type: oauth2, flows: { clientCredentials: { tokenUrl: '${server.url}/token', scopes: {} } } } } }
paths: { /orders: { post: { operationId: order, responses: { '200': { description: ok } } } } }
`

  test('of an operation carries it, and is made once more with another one where it is refused', async () => {
    const ledger: (string | undefined)[] = []
    server.respond = (call, res) => {
      if (call.path === '/token') return authorize(call, res)
      ledger.push(call.headers.authorization)
      give(res, {}, call.headers.authorization === 'Bearer at-2' ? 200 : 401)
    }
    const toolbox = await open({ spec: spec() })
    expect(await callTool(toolbox, 'order', {})).toMatchObject({ result: { state: 'done', status: 200 } })
    expect(await callTool(toolbox, 'order', {})).toMatchObject({ result: { state: 'done' } })
    expect(ledger).toEqual(['Bearer at-1', 'Bearer at-2', 'Bearer at-2'])
  })

  test('of an operation is not made without one, and the model reads why', async () => {
    issue = (res) => give(res, { error: 'invalid_client' }, 401)
    expect(await callTool(await open({ spec: spec() }), 'order', {})).toEqual({
      kind: 'answered',
      result: { state: 'failed', text: 'The authorization server refused with HTTP 401 (invalid_client).' },
    })
    issue = (res) => give(res, {}, 503)
    actions++
    expect(await callTool(await open({ spec: spec() }), 'order', {})).toMatchObject({ kind: 'unreached' })
    expect(server.paths()).not.toContain('/orders')
  })

  /** A server that names its authorization server, as RFC 9728 and 8414 say. */
  const mcp = (issuer: string) => {
    const speak = speaking(
      () => ({ tools: [tool('work')] }),
      () => text('done'),
    )
    server.respond = (call, res) => {
      if (call.path === '/token') return authorize(call, res)
      if (call.path === '/.well-known/oauth-protected-resource/mcp')
        return give(res, { resource: `${server.url}/mcp`, authorization_servers: [issuer] })
      if (call.path === '/.well-known/oauth-authorization-server/tenant')
        return give(res, { issuer: `${server.url}/tenant`, token_endpoint: `${server.url}/token` })
      if (!/^Bearer at-/.test(call.headers.authorization ?? '')) return void res.writeHead(401).end()
      speak(call, res)
    }
  }
  const discovering = () => ({
    specType: 'mcp',
    moduleUrl: `${server.url}/mcp`,
    configs: new Map([['credentials', { oauth: { clientId: 'c', clientSecret: 's' } }]]),
  })

  test('of an MCP server is for that server, and given where that says', async () => {
    mcp(`${server.url}/tenant`)
    const toolbox = await open(discovering())
    expect(toolbox.notes).toEqual([])
    expect(await callTool(toolbox, 'work', {})).toMatchObject({ result: { text: 'done' } })
    expect(asked.map((form) => form.get('resource'))).toEqual([`${server.url}/mcp`])
    toolbox.close?.()
  })

  test('of an MCP server whose authorization server is of another issuer, or not named, is not made', async () => {
    mcp(`${server.url}/other`)
    expect((await open(discovering())).notes?.join()).toContain('tokenUrl is missing')
    expect(asked).toEqual([])
  })
})

test('a secret goes to no other authorization server that a server names later', async () => {
  const other = await startCallEndpoint()
  let issuer = server.url
  server.respond = (call, res) => {
    if (call.path === '/token') return authorize(call, res)
    if (call.path === '/.well-known/oauth-protected-resource')
      return give(res, { authorization_servers: [issuer] })
    if (call.path === '/.well-known/oauth-authorization-server')
      return give(res, { issuer, token_endpoint: `${issuer}/token` })
    res.writeHead(404).end()
  }
  other.respond = (_call, res) => give(res, { issuer: other.url, token_endpoint: `${other.url}/token` })
  const given = { value: { oauth: { clientId: 'c', clientSecret: 's' } }, origins: undefined }
  const target = { url: `${server.url}/mcp`, isDiscovered: true }
  const first = instance()
  const filled = await first.filled(action(), given, target)
  expect(filled?.value.token).toBe('at-1')
  first.refused(filled)
  issuer = other.url
  await expect(first.filled(action(), given, target)).rejects.toMatchObject({
    message: expect.stringContaining('Store it again'),
  })
  expect(other.paths()).not.toContain('/token')
  await other.close()
})
