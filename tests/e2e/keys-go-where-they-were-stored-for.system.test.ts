import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'

/** A server that is a shop, a model and WhatsApp at once, and knows what it was sent. */
interface Recorder {
  url: string
  /** The headers and bodies of all requests as one text. */
  seen(): string
  paths(): string[]
  forget(): void
  server: Server
}

const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

async function startRecorder(): Promise<Recorder> {
  let requests: { path: string; text: string }[] = []
  const server = createServer((req, res) => {
    let body = ''
    req.on('data', (chunk) => (body += chunk))
    req.on('end', () => {
      requests.push({ path: req.url ?? '', text: `${req.rawHeaders.join(' ')} ${req.url} ${body}` })
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ ...COMPLETION, messages: [{ id: `wamid.${requests.length}` }] }))
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: () => requests.map(({ text }) => text).join('\n'),
    paths: () => requests.map(({ path }) => path),
    forget: () => (requests = []),
    server,
  }
}

let system: AssistantSystem
let shop: Workspace
let own: Recorder
let evil: Recorder

beforeAll(async () => {
  system = await startAssistantSystem()
  shop = await registerWorkspace(system.parley.url, 'keys')
  own = await startRecorder()
  evil = await startRecorder()
})
beforeEach(() => {
  own.forget()
  evil.forget()
})
afterAll(async () => {
  for (const { server } of [own, evil]) {
    server.closeAllConnections()
    server.close()
  }
  await system.close()
})

const put = (path: string, body: object) => shop.call('PUT', `/rest/${path}`, body)

/** Returns the authorization of a user who may only write these resources, and read those. */
async function userWith(name: string, writes: string[], reads: string[] = []): Promise<string> {
  const all = (resource: string, write: boolean) => ({
    schema: `{{resource}} == '${resource}'`,
    read: '{{account.workspace._id}}',
    write: write ? '{{account.workspace._id}}' : '',
  })
  const permissions = [...writes.map((one) => all(one, true)), ...reads.map((one) => all(one, false))]
  await shop.call('POST', '/rest/roles', { name: name.toUpperCase(), permissions })
  const user = { email: `${name}@example.com`, password: 'a long password' }
  await shop.call('POST', '/rest/users', { name, phone: '2', role: name.toUpperCase(), ...user })
  const login = (await shop.call('POST', '/api/auth/login', user)) as { accessToken: string }
  return `Bearer ${login.accessToken}`
}

async function as(authorization: string, method: string, path: string, body?: object) {
  const response = await shop.request(method, `/rest/${path}`, body, { authorization })
  return { status: response.status, json: (await response.json()) as Parsed }
}

const specAt = (server: string) =>
  JSON.stringify({
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    servers: [{ url: server }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-key' } } },
    paths: { '/orders': { get: { operationId: 'orders', responses: {} } } },
  })
const action = (server: string) => ({
  name: 'Shop',
  description: 'x',
  specType: 'openapi3-yaml',
  moduleUrl: 'native:request',
  spec: specAt(server),
})
const assistant = (more: object = {}) => ({ name: 'Ana', description: 'x', backstory: 'x', ...more })
const ofAssistant = (owner: number, name: string, value: object) => ({
  name,
  owner,
  ownerType: 'assistant',
  value,
})
const modelAt = (server: string) => ({ provider: 'openai-compatible', model: 'm', baseUrl: `${server}/v1` })
const trial = { messages: [{ role: 'person', text: 'orders {}' }], tools: 'call', type: 'functionCall' }
const tried = async (id: number) =>
  (await shop.call('POST', `/rest/assistant/${id}/try`, trial)) as {
    state: string
    reason?: string
    turns: Parsed
  }

let posted = 0
/** The message, once it is done or dead. */
async function ended(extId: string, answer: object): Promise<Parsed> {
  const response = await shop.postMessage(
    { extId, user: { phone: '5511999990000' }, thread: { extId: `t${++posted}` }, answer },
    `key-${posted}`,
  )
  await response.body?.cancel()
  return eventually(
    async () => {
      const { data } = (await shop.call('GET', '/rest/messages?limit=1')) as Parsed
      return data[0]?.thread === `t${posted}` && ['sent', 'done', 'dead', 'failed'].includes(data[0].state)
        ? shop.call('GET', `/rest/messages/${data[0]._id}`)
        : undefined
    },
    { timeoutMs: 30_000 },
  )
}

describe('the key of an action', () => {
  test('stays away from the server of whoever may write actions alone, until it is stored again', async () => {
    const actions = await userWith('actions', ['actions'])
    await put('actions/1', action(own.url))
    await put('configs/creds', {
      name: 'credentials',
      owner: 1,
      ownerType: 'action',
      value: { apiKey: 'KEY-OF-SHOP' },
    })
    await put('assistant/1', assistant({ actions: [1] }))
    await put('channels/1', {
      ...{ name: 'c', description: '', extId: 'shop', hook: 'rpc', callback: 'whatsapp' },
      ...{
        handlerUrl: 'native:agents/echo',
        config: { assistantId: 1, phoneNumberId: '1', accessToken: 'a' },
      },
    })
    expect((await as(actions, 'PATCH', 'actions/1', { spec: specAt(evil.url) })).status).toBe(200)
    const { turns } = await tried(1)
    expect(turns[0].calls[0].result.text).toMatch(/credentials of action 1 was stored for .*Store it again/)
    const called = await ended('shop', { functions: [{ name: 'orders', args: {} }] })
    expect(called.state).toBe('dead')
    expect(JSON.stringify(called)).toContain('credentials_withheld')
    expect(evil.paths()).toEqual([])

    await put('configs/creds', {
      name: 'credentials',
      owner: 1,
      ownerType: 'action',
      value: { apiKey: 'KEY-OF-SHOP' },
    })
    await tried(1)
    expect(evil.seen()).toContain('KEY-OF-SHOP')
  })
})

describe('the key of a model', () => {
  test('stays away from the address of whoever may write configs alone', async () => {
    const configs = await userWith('configs', ['configs'])
    await put('assistant/2', assistant())
    await put('configs/model', ofAssistant(2, 'model', modelAt(own.url)))
    await put('configs/key', ofAssistant(2, 'credentials', { apiKey: 'KEY-OF-MODEL' }))
    const evilModel = ofAssistant(2, 'model', modelAt(evil.url))
    expect(await as(configs, 'PUT', 'configs/mine', evilModel)).toMatchObject({
      status: 403,
      json: { code: 'reference_forbidden' },
    })
    expect((await as(configs, 'PATCH', 'configs/model', { value: modelAt(evil.url) })).status).toBe(200)
    expect(await tried(2)).toMatchObject({ state: 'dead', reason: expect.stringMatching(/Store it again/) })
    expect(evil.paths()).toEqual([])

    await as(configs, 'PATCH', 'configs/model', { value: modelAt(own.url) })
    expect((await tried(2)).state).toBe('done')
    expect(own.seen()).toContain('KEY-OF-MODEL')
  })

  test('stays away from an assistant of somebody else', async () => {
    const assistants = await userWith('assistants', ['assistant'], ['configs'])
    await put('assistant/3', assistant())
    const { _id: model } = (await put('configs/model3', ofAssistant(3, 'model', modelAt(own.url)))) as Parsed
    const { _id: key } = (await put(
      'configs/key3',
      ofAssistant(3, 'credentials', { apiKey: 'KEY-3' }),
    )) as Parsed
    const { _id: other } = (await put('configs/other', ofAssistant(99, 'model', modelAt(evil.url)))) as Parsed
    expect((await as(assistants, 'PUT', 'assistant/33', assistant({ configs: [other, key] }))).status).toBe(
      200,
    )
    expect((await as(assistants, 'POST', 'assistant/33/try', trial)).json.state).toBe('dead')
    await as(assistants, 'PATCH', 'assistant/3', { configs: [other, model] })
    expect((await tried(3)).state).toBe('dead')
    expect(evil.paths()).toEqual([])
  })
})

test("a channel's access token stays away from an apiUrl that was set without it", async () => {
  const channels = await userWith('channels', ['channels'])
  const channel = {
    ...{ name: 'c', description: '', extId: 'wa', hook: 'rpc', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId: '7', accessToken: 'KEY-OF-CHANNEL', apiUrl: `${own.url}/v23.0` },
  }
  await put('channels/9', channel)
  expect((await ended('wa', { message: 'Hi' })).state).not.toBe('dead')
  expect(own.seen()).toContain('KEY-OF-CHANNEL')
  expect(
    (await as(channels, 'PATCH', 'channels/9', { config: { apiUrl: `${evil.url}/v23.0` } })).status,
  ).toBe(200)
  const { json } = await as(channels, 'GET', 'channels/9')
  expect(json.origins).toEqual([own.url])
  await eventually(async () => {
    const message = await ended('wa', { message: 'Hi' })
    return message.state === 'dead' ? message : undefined
  })
  expect(evil.seen()).not.toContain('KEY-OF-CHANNEL')
  expect(JSON.stringify((await shop.call('GET', '/rest/messages?limit=1')) as Parsed)).toMatch(
    /config.accessToken was stored for .*Store it again/,
  )
})

describe('a trial', () => {
  test('calls the actions that whoever tries may read, and is refused where there are others', async () => {
    const writes = await userWith('tries', ['assistant'])
    const reads = await userWith('reads', ['assistant'], ['actions'])
    await put('actions/5', action(own.url))
    await put('assistant/5', assistant({ actions: [5] }))
    const refused = await as(writes, 'POST', 'assistant/5/try', trial)
    expect(refused).toMatchObject({ status: 403, json: { code: 'forbidden' } })
    expect(refused.json.detail).toContain('actions/5')
    expect(own.paths()).toEqual([])
    expect((await as(writes, 'POST', 'assistant/5/try', { ...trial, tools: 'describe' })).status).toBe(200)
    expect((await as(reads, 'POST', 'assistant/5/try', trial)).status).toBe(200)
    expect(own.paths()).toContain('/orders')
  })
})
