import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import {
  agree,
  type ConsentServer,
  startConsentServer,
} from '../../services/dispatcher/test/consent-server.ts'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'

const ID = 31
const OF_SPEC = 32
const LOGIN = { email: 'ana@connected.example', password: 'correct horse battery staple' }
const REDIRECT = 'http://127.0.0.1:9/console/connected'

let system: AssistantSystem
let token: string
let server: ConsentServer

beforeAll(async () => {
  system = await startAssistantSystem()
  const account = { ...LOGIN, name: 'Ana', phone: '1', namespace: 'connected' }
  token = (await send('POST', '/api/auth/register', account)).json.accessToken
  server = await startConsentServer()
  const action = { name: 'Orders', description: 'Orders', specType: 'mcp', spec: '' }
  await send('PUT', `/rest/actions/${ID}`, { ...action, moduleUrl: `${server.url}/mcp` })
})
afterAll(async () => {
  await server.close()
  await system.close()
})

async function send(
  method: string,
  path: string,
  body?: object,
  as = token,
): Promise<{ status: number; json: Parsed }> {
  const response = await fetch(system.parley.url + path, {
    method,
    headers: { 'content-type': 'application/json', ...(as && { authorization: `Bearer ${as}` }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: await response.json() }
}

const post = (path: string, body?: object, as?: string) =>
  send('POST', `/rest/actions/${ID}/${path}`, body, as)

const findings = async (): Promise<string[]> => {
  const { json } = await send('GET', '/rest/check')
  return json.data.map(({ code, resource }: { code: string; resource: string }) => `${resource} ${code}`)
}

describe('an action whose server asks for consent', () => {
  test('can not be connected before its credentials say so', async () => {
    const refused = await post('connect', { redirectUri: REDIRECT })
    expect([refused.status, refused.json.code]).toEqual([409, 'no_consent'])
    const wrong = await post('connect', { redirectUri: 'http://shop.example/console/connected' })
    expect([wrong.status, wrong.json.code]).toEqual([422, 'validation_failed'])
  })

  test('fails its test, which the check finds', async () => {
    const tested = await post('test')
    expect([tested.status, tested.json.state, tested.json.tools]).toEqual([200, 'failing', []])
    expect(tested.json.notes.join()).toContain(`The tools of the MCP server of action ${ID} are missing`)
    await eventually(async () => (await findings()).includes('actions failing_server'))
  })

  test('is connected by who began it, and has its tools from then on', async () => {
    await send('PUT', '/rest/configs/orders-credentials', {
      ...{ name: 'credentials', owner: ID, ownerType: 'action' },
      value: { oauth: { grant: 'authorization_code' } },
    })
    const unconnected = await post('test')
    expect(unconnected.json.notes.join()).toContain('Nobody has given consent yet')
    await eventually(async () => (await findings()).includes('configs credentials_refused'))
    const begun = await post('connect', { redirectUri: REDIRECT })
    expect(begun.status).toBe(200)
    const { to, ...came } = await agree(begun.json.authorizationUrl)
    expect(to).toBe(REDIRECT)
    const { accessToken } = (await send('POST', '/api/auth/login', LOGIN)).json
    const other = await post('connected', came, accessToken)
    expect([other.status, other.json.code]).toEqual([409, 'no_consent'])
    expect(await post('connected', came)).toMatchObject({ status: 200, json: { connected: true } })
    expect((await post('connected', came)).status).toBe(409)
    const tested = await post('test')
    expect(tested.json).toMatchObject({ state: 'working', tools: [{ name: 'work' }], notes: [] })
    await eventually(async () => (await findings()).length === 0)
  })
})

describe('an action whose spec has an operation that can not be a tool', () => {
  const specWith = (operation: object) =>
    JSON.stringify({
      ...{
        openapi: '3.1.0',
        info: { title: 'Shop', version: '1' },
        servers: [{ url: 'http://127.0.0.1:9' }],
      },
      paths: { '/orders': { get: { operationId: 'listOrders' }, post: operation } },
    })
  const write = (operation: object) =>
    send('PUT', `/rest/actions/${OF_SPEC}`, {
      ...{ name: 'Shop', description: 'Orders', specType: 'openapi3-yaml', moduleUrl: 'native:request' },
      spec: specWith(operation),
    })

  test('says so, with the reason, where it is tested, in its assistant’s prompt, and in the check until it is mended', async () => {
    const note = `A tool of action ${OF_SPEC} is left out: it has no operationId (POST /orders).`
    expect((await write({ summary: 'Orders something' })).status).toBe(200)
    const assistant = { name: 'Bia', description: '', backstory: '', actions: [OF_SPEC] }
    await send('PUT', '/rest/assistant/1', assistant)
    const tested = await send('POST', `/rest/actions/${OF_SPEC}/test`)
    expect(tested.json).toMatchObject({ state: 'working', tools: [{ name: 'listOrders' }], notes: [note] })
    const prompt = await send('POST', '/rest/assistant/1/prompt', {})
    expect(prompt.json.notes).toEqual([note])
    const found = async () => {
      const { json } = await send('GET', '/rest/check')
      return json.data.map(({ code, path, message }: Parsed) => ({ code, path, message }))
    }
    await eventually(async () => (await found()).length > 0)
    expect(await found()).toEqual([{ code: 'missing_tool', path: '/spec', message: note }])
    await write({ operationId: 'order' })
    expect(await found()).toEqual([])
    expect((await send('POST', `/rest/actions/${OF_SPEC}/test`)).json.notes).toEqual([])
    expect(await found()).toEqual([])
  })
})
