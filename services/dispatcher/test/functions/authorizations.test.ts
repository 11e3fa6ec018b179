import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { config } from '../../src/config.ts'
import { createAccessTokens } from '../../src/functions/access-tokens.ts'
import { createAuthorizations } from '../../src/functions/authorizations.ts'
import { actionOf, agentOf, callTool, secrets, startTools } from '../agent-world.ts'
import { agree, type ConsentServer, startConsentServer } from '../consent-server.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })
const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS.parse('127.0.0.0/8') })
const REDIRECT = 'http://127.0.0.1:9/console/connected'
const ANA = { account: 1, session: 'ana' }

let server: ConsentServer
let reports: (string | undefined)[]
let actions = 0
let later = 0

beforeAll(async () => {
  server = await startConsentServer()
})
afterAll(async () => {
  http.close()
  await server.close()
})
beforeEach(() => {
  ;[server.asked, reports, server.isRevoked, later] = [[], [], false, 0]
  actions++
})

function instance(name = 'one') {
  const now = () => Date.now() + later
  const { accessTokens, authorizations } = database.collections
  const report = (_action: object, refusal: string | undefined) => void reports.push(refusal)
  const tokens = createAccessTokens({ http, collection: accessTokens, secrets, instance: name, now, report })
  return { tokens, ...createAuthorizations({ http, collection: authorizations, tokens, secrets, now }) }
}

const credentialsOf = (oauth: JsonObject = {}) => ({
  value: { oauth: { grant: 'authorization_code', ...oauth } },
  origins: [new URL(server.url).origin],
})
const action = () => ({ workspace: 1, _id: actions, discoveredAt: `${server.url}/mcp` })
const target = () => ({ url: `${server.url}/mcp`, isDiscovered: true })
const begun = (one: ReturnType<typeof instance>, oauth?: JsonObject) =>
  one.begin({ action: action(), credentials: credentialsOf(oauth), redirectUri: REDIRECT, ...ANA })

async function connected(one: ReturnType<typeof instance>): Promise<void> {
  const { to, ...came } = await agree((await begun(one)).url)
  expect(to).toBe(REDIRECT)
  const ended = await one.end({ action: action(), credentials: credentialsOf(), ...came, ...ANA })
  expect(ended).toBe(true)
}

const tokenFrom = async ({ tokens }: ReturnType<typeof instance>, given = credentialsOf()) =>
  (await tokens.filled(action(), given, target()))?.value.token

describe('consent to a server that says itself where it is given', () => {
  test('is asked for as a client that is registered for it, with PKCE, for that server', async () => {
    const { url } = await begun(instance())
    const { searchParams } = new URL(url)
    expect(Object.fromEntries(searchParams)).toEqual({
      response_type: 'code',
      client_id: expect.stringMatching(/./),
      redirect_uri: REDIRECT,
      state: expect.stringMatching(new RegExp(`^${actions}\\.[\\w-]{43}$`)),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      scope: 'orders',
      resource: `${server.url}/mcp`,
    })
  })

  test('gives tools access, in each instance', async () => {
    const one = instance()
    await expect(tokenFrom(one)).rejects.toThrow('Nobody has given consent yet')
    await connected(one)
    const token = await tokenFrom(one)
    expect(await tokenFrom(instance('two'))).toBe(token)
    const tools = startTools({ tokens: one.tokens, listMs: 5_000 })
    const { value, origins } = credentialsOf()
    const toolbox = await tools.open(
      agentOf([
        actionOf({
          ...{ _id: actions, specType: 'mcp', moduleUrl: `${server.url}/mcp` },
          configs: new Map([['credentials', value]]),
          origins: new Map([['credentials', origins]]),
        }),
      ]),
    )
    expect(await callTool(toolbox, 'work', {})).toMatchObject({ result: { text: 'done' } })
    toolbox.close?.()
    await tools.close()
    expect(reports.at(-1)).toBeUndefined()
  })

  test('is renewed once for all instances, and asked for again where it is withdrawn', async () => {
    const one = instance()
    await connected(one)
    const first = await tokenFrom(one)
    later = 3_600_000
    const both = await Promise.all([one, instance('two')].map((each) => tokenFrom(each)))
    expect(new Set(both).size).toBe(1)
    expect(both[0]).not.toBe(first)
    expect(server.asked.map((form) => form.get('grant_type'))).toEqual([
      'authorization_code',
      'refresh_token',
    ])
    expect(server.asked.map((form) => form.get('resource'))).toEqual([
      `${server.url}/mcp`,
      `${server.url}/mcp`,
    ])
    later = 7_200_000
    server.isRevoked = true
    await expect(tokenFrom(one)).rejects.toThrow('invalid_grant')
    expect(reports.at(-1)).toContain('invalid_grant')
    server.isRevoked = false
    await connected(one)
    expect(await tokenFrom(one)).toEqual(expect.any(String))
    expect(reports.at(-1)).toBeUndefined()
  })

  test('is stored sealed, while it is asked for and after it', async () => {
    const one = instance()
    const { url } = await begun(one)
    const came = await agree(url)
    const { authorizations, accessTokens } = database.collections
    const record = await authorizations.findOne({ action: actions })
    expect(record?.sealed).toMatch(/^sealed:/)
    expect(JSON.stringify(record)).not.toContain(came.state)
    await one.end({ action: action(), credentials: credentialsOf(), ...came, ...ANA })
    const token = await tokenFrom(one)
    const stored = await accessTokens.findOne({ _id: `1/${actions}` })
    expect(JSON.stringify(stored)).not.toMatch(new RegExp(`${token}|rt-`))
  })

  test('is not for the same credentials of another server', async () => {
    const one = instance()
    await connected(one)
    const elsewhere = { ...credentialsOf(), origins: ['https://other.example'] }
    await expect(tokenFrom(one, elsewhere)).rejects.toThrow('Nobody has given consent yet')
  })
})

describe('the state of a consent', () => {
  test('ends once, for who began it in their login, and for that action', async () => {
    const one = instance()
    const came = await agree((await begun(one)).url)
    const end = (more: object) =>
      one.end({ action: action(), credentials: credentialsOf(), ...came, ...ANA, ...more })
    expect(await end({ account: 2 })).toBe(false)
    expect(await end({ session: 'another login' })).toBe(false)
    expect(await end({ action: { ...action(), _id: 9_999 } })).toBe(false)
    expect(await end({ action: { ...action(), workspace: 2 } })).toBe(false)
    expect(await end({ state: `${actions}.guessed` })).toBe(false)
    expect(await end({})).toBe(true)
    expect(await end({})).toBe(false)
    expect(server.asked.length).toBe(1)
  })

  test('is over after ten minutes, when it begins anew, and with other credentials', async () => {
    const one = instance()
    const first = await agree((await begun(one)).url)
    const second = await agree((await begun(one)).url)
    const end = (came: { state: string; code: string }, given = credentialsOf()) =>
      one.end({ action: action(), credentials: given, ...came, ...ANA })
    expect(await end(first)).toBe(false)
    later = 600_001
    expect(await end(second)).toBe(false)
    later = 0
    const third = await agree((await begun(one)).url)
    expect(await end(third, credentialsOf({ scope: 'all' }))).toBe(false)
    expect(server.asked).toEqual([])
  })

  test('takes no code of another issuer, and none that was made up', async () => {
    const one = instance()
    const came = await agree((await begun(one)).url)
    const given = { action: action(), credentials: credentialsOf(), ...ANA }
    await expect(one.end({ ...given, ...came, issuer: 'https://mixed-up.example' })).rejects.toThrow(
      'another authorization server',
    )
    expect(server.asked).toEqual([])
    const again = await agree((await begun(one)).url)
    await expect(one.end({ ...given, ...again, code: 'made-up' })).rejects.toThrow(/refused|HTTP/)
  })
})

test.each<[string, JsonObject, string | undefined, string]>([
  ['no server to ask', {}, undefined, 'authorizationUrl and tokenUrl are missing'],
  [
    'an address that is none',
    { authorizationUrl: 'javascript:alert(1)', tokenUrl: 'https://a.example' },
    undefined,
    'no http(s) URLs',
  ],
  ['a private address', {}, 'http://10.0.0.1/mcp', 'does not say'],
])('consent can not be asked for with %s', async (_name, oauth, discoveredAt, reason) => {
  const asking = { action: { ...action(), discoveredAt }, redirectUri: REDIRECT, ...ANA }
  await expect(instance().begin({ ...asking, credentials: credentialsOf(oauth) })).rejects.toThrow(reason)
})

test('consent can be asked for of a known client at known addresses', async () => {
  const oauth = {
    clientId: 'shop',
    clientSecret: 's',
    authorizationUrl: 'https://auth.example/go?tenant=7',
    tokenUrl: 'https://auth.example/token',
    scope: 'read write',
  }
  const asking = { action: { workspace: 1, _id: actions }, redirectUri: REDIRECT, ...ANA }
  const { url } = await instance().begin({ ...asking, credentials: credentialsOf(oauth) })
  expect(url).toMatch(/^https:\/\/auth\.example\/go\?tenant=7&response_type=code&client_id=shop&/)
  expect(url).not.toContain('clientSecret')
})
