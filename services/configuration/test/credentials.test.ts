import { describe, expect, test } from '@jest/globals'
import { configurationForTests } from './configuration-server.ts'

const MASK = '••••'
const rule = (resource: string, write: string) => ({
  schema: `{{resource}} == '${resource}'`,
  read: 'true',
  write,
})
const server = configurationForTests({
  roles: {
    ACTIONS: [rule('actions', 'true')],
    ASSISTANTS: [rule('assistant', 'true'), rule('configs', '{{doc.owner}} == 99')],
  },
})

const write = async (method: string, path: string, body: unknown) => {
  const { status, json } = await server.call(method, `/rest/${path}`, { body })
  if (status !== 200) throw new Error(JSON.stringify(json))
  return json
}
const put = (path: string, body: unknown) => write('PUT', path, body)
const patch = (path: string, body: unknown) => write('PATCH', path, body)
const originsOf = async (path: string) => (await server.call('GET', `/rest/${path}`)).json.origins

const spec = (server: string) =>
  `openapi: 3.0.3\ninfo: {title: t, version: "1"}\nservers: [{url: "${server}", variables: {host: {default: b.example}}}]\npaths: {}\n`
const actionAt = (server: string, more: object = {}) => ({
  name: 'Shop',
  description: '',
  specType: 'openapi3-yaml',
  moduleUrl: 'native:request',
  spec: spec(server),
  ...more,
})
const ofAction = (owner: number, more: object = {}) => ({
  name: 'credentials',
  owner,
  ownerType: 'action',
  value: { apiKey: 'k-1' },
  ...more,
})
const assistant = (more: object = {}) => ({ name: 'Ana', description: '', backstory: '', ...more })
const ofAssistant = (owner: number, name: string, value: object) => ({
  name,
  owner,
  ownerType: 'assistant',
  value,
})
const model = (owner: number, value: object = {}) =>
  ofAssistant(owner, 'model', { provider: 'openai', model: 'm', ...value })

describe('the credentials of an action', () => {
  test.each([
    ['after it', false],
    ['before it', true],
  ])('that are stored %s go where its server is then, and follow no change of it', async (_when, isFirst) => {
    const id = isFirst ? 1 : 2
    if (isFirst) await put(`configs/c${id}`, ofAction(id))
    await put(`actions/${id}`, actionAt('https://a.example/v1'))
    if (!isFirst) await put(`configs/c${id}`, ofAction(id))
    expect(await originsOf(`configs/c${id}`)).toEqual(['https://a.example'])
    await patch(`actions/${id}`, { spec: spec('https://{host}/v1') })
    expect(await originsOf(`configs/c${id}`)).toEqual(['https://a.example'])
    await patch(`configs/c${id}`, { value: { note: 'x' } })
    await put(`configs/c${id}`, ofAction(id, { value: { apiKey: MASK } }))
    expect(await originsOf(`configs/c${id}`)).toEqual(['https://a.example'])
    await put(`configs/c${id}`, ofAction(id))
    expect(await originsOf(`configs/c${id}`)).toEqual(['https://b.example'])
  })

  test('do not go to one that is made in its place, nor move with their config', async () => {
    await put('configs/c3', ofAction(3))
    await put('actions/3', actionAt('https://a.example'))
    await put('actions/4', actionAt('https://evil.example'))
    await server.call('DELETE', '/rest/actions/3?force=true')
    await put('actions/3', actionAt('https://evil.example'))
    await patch('configs/c3', { owner: 4 })
    await patch('configs/c3', { name: 'other' })
    await patch('configs/c3', { name: 'credentials' })
    expect(await originsOf('configs/c3')).toEqual(['https://a.example'])
  })

  test('go to the URL of an MCP server, and nowhere while their action names no server', async () => {
    await put('actions/5', actionAt('', { specType: 'mcp', moduleUrl: 'https://mcp.example/x' }))
    await put('configs/c5', ofAction(5))
    expect(await originsOf('configs/c5')).toEqual(['https://mcp.example'])
    await put('actions/6', actionAt('', { spec: 'openapi: 3.0.0\npaths: {}\n' }))
    await put('configs/c6', ofAction(6))
    expect(await originsOf('configs/c6')).toEqual([])
  })

  test('that an earlier version stored are bound to where they go before that changes', async () => {
    await put('actions/7', actionAt('https://a.example'))
    const { _id } = await put('configs/c7', ofAction(7))
    await server.database
      .collection<{ _id: { workspace: number; id: number } }>('configs')
      .updateOne({ _id: { workspace: 1, id: _id } }, { $unset: { 'doc.origins': '' } })
    const other = await server.startInstance()
    await other.call('PATCH', '/rest/actions/7', { body: { spec: spec('https://evil.example') } })
    expect((await other.call('GET', '/rest/configs/c7')).json.origins).toEqual(['https://a.example'])
    await other.close()
  })
})

test('credentials that have no address yet get their first one only from somebody who may write them', async () => {
  await put('configs/c8', ofAction(8))
  await server.call('PUT', '/rest/actions/8', { role: 'ACTIONS', body: actionAt('https://evil.example') })
  expect(await originsOf('configs/c8')).toEqual([])
  const { _id: key } = await put('configs/k9', ofAssistant(9, 'credentials', { apiKey: 'k' }))
  const { _id: own } = await put('configs/m9', model(99, { baseUrl: 'https://evil.example' }))
  const body = assistant({ configs: [own, key] })
  expect((await server.call('PUT', '/rest/assistant/14', { role: 'ASSISTANTS', body })).status).toBe(200)
  expect(await originsOf('configs/k9')).toEqual([])
})

describe('the keys of models', () => {
  test.each([
    ['credentials', 'model', ['https://api.openai.com']],
    ['OPENAI_credentials', 'AI-chat-provider', ['https://api.openai.com', 'https://eu.example']],
    ['anthropic_CREDENTIALS', 'model', ['https://api.anthropic.com']],
  ])('named %s go where the models of config %s are that use them', async (name, models, origins) => {
    const id = 20 + origins.length + name.length
    const fallbacks = [
      { provider: 'openai', model: 'm', baseUrl: 'https://eu.example/v1' },
      { provider: 'anthropic', model: 'm' },
    ]
    await put(`assistant/${id}`, assistant())
    await put(`configs/k${id}`, ofAssistant(id, name, { apiKey: 'k' }))
    expect(await originsOf(`configs/k${id}`)).toBeUndefined()
    await put(`configs/m${id}`, ofAssistant(id, models, { provider: 'OpenAI', model: 'm', fallbacks }))
    expect(await originsOf(`configs/k${id}`)).toEqual(origins)
  })

  test('do not follow a change of baseUrl, another model before it, or an assistant of somebody else', async () => {
    await put('assistant/10', assistant())
    const { _id: key } = await put('configs/k10', ofAssistant(10, 'credentials', { apiKey: 'k' }))
    const { _id: first } = await put('configs/m10', model(10, { baseUrl: 'https://a.example/v1' }))
    const bound = () => originsOf('configs/k10')
    expect(await bound()).toEqual(['https://a.example'])
    await patch('configs/m10', { value: { baseUrl: 'https://evil.example/v1' } })
    const { _id: evil } = await put('configs/e10', model(99, { baseUrl: 'https://evil.example' }))
    await patch('assistant/10', { configs: [evil, first] })
    await put('assistant/11', assistant({ configs: [key, evil] }))
    await write('POST', 'import', {
      version: 1,
      resources: { configs: [{ _id: first, key: 'm10', ...model(10, { baseUrl: 'https://evil.example' }) }] },
    })
    expect(await bound()).toEqual(['https://a.example'])
    await put('configs/k10', ofAssistant(10, 'credentials', { apiKey: 'k' }))
    expect(await bound()).toEqual(['https://evil.example'])
  })

  test('that come with their address in one import go there, and what stays behind is found', async () => {
    await put('assistant/12', assistant())
    const { _id: m } = await put('configs/m12', model(12, { baseUrl: 'https://a.example' }))
    const { _id: k } = await put('configs/k12', ofAssistant(12, 'credentials', { apiKey: 'k-1' }))
    const at = (baseUrl: string, apiKey: string) => ({
      version: 1,
      resources: {
        configs: [
          { _id: k, key: 'k12', ...ofAssistant(12, 'credentials', { apiKey }) },
          { _id: m, key: 'm12', ...model(12, { baseUrl }) },
        ],
      },
    })
    await write('POST', 'import', at('https://b.example', 'k-2'))
    expect(await originsOf('configs/k12')).toEqual(['https://b.example'])
    await write('POST', 'import', at('https://c.example', MASK))
    expect(await originsOf('configs/k12')).toEqual(['https://b.example'])
    const { data } = (await server.call('GET', '/rest/check')).json
    const withheld = data.filter(
      (one: { code: string; _id: number }) => one.code === 'credentials_withheld' && one._id === k,
    )
    expect(withheld).toMatchObject([{ resource: 'configs', path: '/value' }])
    expect(withheld[0].message).toMatch(
      /stored for https:\/\/b\.example.*not sent to https:\/\/c\.example.*store it again/,
    )
  })
})

test("a channel's access token stays where it was stored for until it is sent again", async () => {
  const channel = (config: object) => ({
    name: 'c',
    description: '',
    extId: 'x',
    hook: 'whatsapp',
    callback: 'whatsapp',
    handlerUrl: 'native:agents/echo',
    config,
  })
  await put('channels/1', channel({ accessToken: 'a', phoneNumberId: '1' }))
  expect(await originsOf('channels/1')).toBeUndefined()
  await patch('channels/1', { config: { apiUrl: 'https://evil.example/v23.0' } })
  expect(await originsOf('channels/1')).toEqual(['https://graph.facebook.com'])
  await patch('channels/1', { config: { apiUrl: 'https://other.example' } })
  expect(await originsOf('channels/1')).toEqual(['https://graph.facebook.com'])
  const { data } = (await server.call('GET', '/rest/check')).json
  expect(
    data.filter(
      (one: { code: string; resource: string }) =>
        one.code === 'credentials_withheld' && one.resource === 'channels',
    ),
  ).toMatchObject([{ _id: 1, path: '/config/accessToken' }])
  await put('channels/1', channel({ accessToken: MASK, phoneNumberId: '1', apiUrl: 'https://third.example' }))
  expect(await originsOf('channels/1')).toEqual(['https://graph.facebook.com'])
  await put('channels/1', channel({ accessToken: 'a', phoneNumberId: '1', apiUrl: 'https://third.example' }))
  expect(await originsOf('channels/1')).toBeUndefined()
})

describe('the credentials of an OAuth client', () => {
  const client = (oauth: object) => ofAction(70, { value: { oauth: { clientId: 'c', ...oauth } } })
  const A = 'https://a.example/token'
  const B = 'https://b.example/token'
  const statusOf = async (method: string, body: unknown) =>
    (await server.call(method, '/rest/configs/oauth', { body })).json.errors?.map(
      ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
    ) ?? 'stored'

  test.each<[string, string, object, string | string[]]>([
    ['the same address', 'PUT', client({ clientSecret: MASK, tokenUrl: A }), 'stored'],
    ['another scope', 'PATCH', { value: { oauth: { scope: 'x' } } }, 'stored'],
    ['another address and another secret', 'PUT', client({ clientSecret: 't', tokenUrl: B }), 'stored'],
    [
      'another address alone',
      'PATCH',
      { value: { oauth: { tokenUrl: B } } },
      ['/value/oauth/clientSecret secret_needed'],
    ],
    [
      'another address and the secret masked',
      'PUT',
      client({ clientSecret: MASK, tokenUrl: B }),
      ['/value/oauth/clientSecret secret_needed'],
    ],
    [
      'no address and the secret masked',
      'PUT',
      client({ clientSecret: MASK }),
      ['/value/oauth/clientSecret secret_needed'],
    ],
  ])('are given again with another address of their tokens: %s', async (_name, method, body, expected) => {
    await put('configs/oauth', client({ clientSecret: 's', tokenUrl: A }))
    expect(await statusOf(method, body)).toEqual(expected)
  })

  test('are marked while they are refused, which the check finds, until they are stored again or work', async () => {
    const stored = await put('configs/oauth', client({ clientSecret: 's', tokenUrl: A }))
    const mark = (body: object) =>
      server.callAs('dispatcher', '/internal/workspaces/1/actions/70/credentials', { method: 'POST', body })
    const findings = async () =>
      (await server.call('GET', '/rest/check')).json.data
        .filter(({ code }: { code: string }) => code === 'credentials_refused')
        .map(({ resource, _id, message }: JsonFinding) => ({ resource, _id, message }))
    const refused = { state: 'refused', reason: 'It said invalid_client.' }
    expect((await mark(refused)).json).toEqual({ marked: true })
    expect((await mark(refused)).json).toEqual({ marked: false })
    expect(await findings()).toEqual([
      { resource: 'configs', _id: stored._id, message: expect.stringContaining('invalid_client') },
    ])
    expect((await mark({ state: 'working' })).json).toEqual({ marked: true })
    expect(await findings()).toEqual([])
    await mark(refused)
    await put('configs/oauth', client({ clientSecret: 't', tokenUrl: A }))
    expect(await findings()).toEqual([])
  })
})

describe('the server of an action', () => {
  test('is marked while it gives no tools, which the check finds, until it does', async () => {
    await put('actions/80', actionAt('https://a.example/v1'))
    const mark = (body: object, id = 80) =>
      server.callAs('dispatcher', `/internal/workspaces/1/actions/${id}/server`, { method: 'POST', body })
    const findings = async () =>
      (await server.call('GET', '/rest/check')).json.data
        .filter(({ code }: { code: string }) => code === 'failing_server')
        .map(({ resource, _id, message }: JsonFinding) => ({ resource, _id, message }))
    const failing = { state: 'failing', reason: 'It did not answer in time.' }
    expect((await mark(failing)).json).toEqual({ marked: true })
    expect((await mark(failing)).json).toEqual({ marked: false })
    expect(await findings()).toEqual([{ resource: 'actions', _id: 80, message: failing.reason }])
    expect((await mark({ state: 'working' })).json).toEqual({ marked: true })
    expect((await mark({ state: 'working' })).json).toEqual({ marked: false })
    expect(await findings()).toEqual([])
    expect((await mark(failing, 8_000)).json).toEqual({ marked: false })
    expect((await mark({ state: 'failing' })).status).toBe(422)
  })
})

describe('the tools of an action', () => {
  test('that are missing are marked, and found by the check with each reason, until its spec is another one', async () => {
    const first = actionAt('https://a.example/v1')
    await put('actions/81', first)
    const mark = (missing: unknown, id = 81) =>
      server.callAs('dispatcher', `/internal/workspaces/1/actions/${id}/tools`, {
        method: 'POST',
        body: { missing },
      })
    const findings = async () =>
      (await server.call('GET', '/rest/check')).json.data
        .filter(({ code }: { code: string }) => code === 'missing_tool')
        .map(({ _id, path, message }: JsonFinding & { path: string }) => ({ _id, path, message }))
    expect((await mark(['one', 'two'])).json).toEqual({ marked: true })
    expect((await mark(['one', 'two'])).json).toEqual({ marked: false })
    const named = (message: string) => ({ _id: 81, path: '/spec', message })
    expect(await findings()).toEqual([named('one'), named('two')])
    expect((await mark(['two'])).json).toEqual({ marked: true })
    await put('actions/81', { ...first, description: 'Another text' })
    expect(await findings()).toEqual([named('two')])
    await put('actions/81', actionAt('https://a.example/v2'))
    expect(await findings()).toEqual([])
    await mark(['one'])
    expect((await mark([])).json).toEqual({ marked: true })
    expect((await mark([])).json).toEqual({ marked: false })
    expect(await findings()).toEqual([])
    expect((await mark(['one'], 8_000)).json).toEqual({ marked: false })
    expect((await mark('one')).status).toBe(422)
  })
})

interface JsonFinding {
  resource: string
  _id: number
  message: string
}
