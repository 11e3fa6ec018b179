import { describe, expect, test } from '@jest/globals'
import { isSealed } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests()
const put = (path: string, body: unknown) => server.call('PUT', `/rest/${path}`, { body })
const get = (path: string, role?: string) => server.call('GET', `/rest/${path}`, role ? { role } : {})
const patch = (path: string, body: unknown) => server.call('PATCH', `/rest/${path}`, { body })

const CANARY = 'in-the-clear'
let count = 0
const canary = () => `${CANARY}-${count++}-x`
const spec = (url: string) => JSON.stringify({ openapi: '3.0.0', servers: [{ url }], paths: {} })

/** Each body, and how it is shown to those who may not write it. */
const places = (): [path: string, body: Record<string, unknown>, masked: Record<string, unknown>][] => {
  const query = `k=${canary()}`
  const credentials = {
    headers: { 'X-A': canary() },
    byScheme: canary(),
    list: [[7, canary()], { deep: true }],
  }
  const hiddenCredentials = { headers: { 'X-A': MASK }, byScheme: MASK, list: [[MASK, MASK], { deep: MASK }] }
  return [
    [
      'channels/1',
      {
        ...bodies.channels,
        handlerUrl: `https://h.example/p?${query}`,
        config: {
          headers: { 'X-Key': canary(), Accept: 'a' },
          callbackUrl: `https://c.example/?x=${canary()}`,
          Authorization: canary(),
          deep: [{ 'x-api-key': canary(), maxOutputTokens: 5, hook: `https://c.example/?token=${canary()}` }],
          env: [
            { name: 'DB_PASSWORD', value: canary() },
            { name: 'LANG', value: 'pt' },
          ],
          tokenType: 'open',
          historyTokens: 10,
        },
      },
      {
        handlerUrl: `https://h.example/p?${MASK}`,
        config: {
          headers: { 'X-Key': MASK, Accept: MASK },
          callbackUrl: `https://c.example/?${MASK}`,
          Authorization: MASK,
          deep: [{ 'x-api-key': MASK, maxOutputTokens: 5, hook: `https://c.example/?${MASK}` }],
          env: [
            { name: 'DB_PASSWORD', value: MASK },
            { name: 'LANG', value: 'pt' },
          ],
          tokenType: 'open',
          historyTokens: 10,
        },
      },
    ],
    [
      'actions/1',
      {
        ...bodies.actions,
        moduleUrl: `https://m.example/mcp?${query}`,
        spec: spec(`https://s.example/?${query}`),
      },
      { moduleUrl: `https://m.example/mcp?${MASK}`, spec: spec(`https://s.example/?${MASK}`) },
    ],
    [
      'subscriptions/1',
      { ...bodies.subscriptions, url: `https://s.example/?${query}` },
      { url: `https://s.example/?${MASK}` },
    ],
    ...['credentials', 'CREDENTIALS', 'openai_CREDENTIALS'].map(
      (name, at) =>
        [
          `configs/${at + 1}`,
          { ...bodies.configs, name, value: credentials },
          { value: hiddenCredentials },
        ] as [string, Record<string, unknown>, Record<string, unknown>],
    ),
    [
      'configs/9',
      {
        ...bodies.configs,
        name: 'model',
        value: { baseUrl: `https://b.example/v1?${query}`, api_key: canary() },
      },
      { value: { baseUrl: `https://b.example/v1?${MASK}`, api_key: MASK } },
    ],
  ]
}

test('secrets are sealed wherever they lie, shown to writers as they were sent, and masked to others', async () => {
  for (const [path, body, masked] of places()) {
    const written = await put(path, body)
    expect([path, written.status, written.json]).toEqual([path, 200, expect.objectContaining(body)])
    const shown = await get(path, 'VIEWER')
    expect(shown.json).toMatchObject(masked)
    expect([path, (await get(path)).json]).toEqual([path, expect.objectContaining(body)])
    // Nothing else is known of it, but its name.
    const { _id, key, createdAt, updatedAt, ...sent } = shown.json
    const again = await put(path, { ...sent, name: 'credentials' === body.name ? 'credentials' : sent.name })
    expect([path, again.status, again.json]).toEqual([path, 200, expect.objectContaining(body)])
    const patched = await patch(path, { ...masked, description: undefined })
    expect([path, patched.status, patched.json]).toEqual([path, 200, expect.objectContaining(body)])
  }
  for (const path of [
    'channels',
    'actions',
    'subscriptions',
    'configs',
    'export',
    'export?secrets=true',
    'check',
  ])
    expect([path, (await get(path, 'VIEWER')).text.includes(CANARY)]).toEqual([path, false])
  expect((await get('export')).text).not.toContain(CANARY)
  expect((await get('export?secrets=true')).text).toContain(CANARY)
})

test('nothing of them is in the database or in the history for others', async () => {
  for (const [path, body] of places()) await put(path, { ...body, name: body.name ?? 'n' })
  for (const path of ['channels/1', 'actions/1', 'subscriptions/1', 'configs/1', 'configs/9']) {
    const { text } = await eventually(
      () => get(`${path}/history`, 'VIEWER'),
      ({ json }) => json.data?.[0]?.changes?.length > 0,
    )
    expect([path, text.includes(CANARY)]).toEqual([path, false])
    expect((await get(`${path}/history`)).text).toContain(CANARY)
  }
  const collections = await server.database.listCollections().toArray()
  const names = collections.map(({ name }) => name).filter((name) => !name.startsWith('system.'))
  const stored = () => Promise.all(names.map((name) => server.database.collection(name).find().toArray()))
  // A secret that is written before earlier releases are known to be gone is sealed a moment later.
  await eventually(
    async () => JSON.stringify(await stored()),
    (all) => !all.includes(CANARY),
  )
})

test('other services get them sealed', async () => {
  await put('actions/2', { ...bodies.actions, moduleUrl: `https://m.example/?k=${canary()}` })
  const { json } = await server.callAs('dispatcher', '/internal/workspaces/1/actions/2')
  expect(isSealed(json.moduleUrl.split('?')[1])).toBe(true)
})

test('the mask of a query is for its own host', async () => {
  await put('actions/3', { ...bodies.actions, moduleUrl: `https://m.example/a?k=${canary()}` })
  const elsewhere = await patch('actions/3', { moduleUrl: `https://m.example/b?${MASK}` })
  expect([elsewhere.status, elsewhere.json.moduleUrl]).toEqual([
    200,
    expect.stringContaining('/b?k=in-the-clear'),
  ])
  const moved = await patch('actions/3', { moduleUrl: `https://other.example/b?${MASK}` })
  expect([moved.status, moved.json.errors]).toEqual([
    422,
    [expect.objectContaining({ path: '/moduleUrl', code: 'nothing_stored' })],
  ])
})

test('a config that gets another name is as secret as its name says, then and in its history', async () => {
  const value = { provider: canary() }
  await put('configs/20', { ...bodies.configs, name: 'plain', value })
  expect((await get('configs/20', 'VIEWER')).json.value).toEqual(value)
  await patch('configs/20', { name: 'credentials' })
  expect((await get('configs/20', 'VIEWER')).json.value).toEqual({ provider: MASK })
  await patch('configs/20', { name: 'plain', value: { provider: 'other' } })
  expect((await get('configs/20', 'VIEWER')).json.value).toEqual({ provider: 'other' })
  const history = await eventually(
    () => get('configs/20/history', 'VIEWER'),
    ({ json }) => json.data?.length === 3,
  )
  expect(history.text).not.toContain(CANARY)
})

describe('user information in a URL', () => {
  const url = 'https://u:p@h.example/'
  test.each([
    ['channels/40', { handlerUrl: url }, '/handlerUrl'],
    ['channels/40', { handlerUrl: 'https://token@h.example/' }, '/handlerUrl'],
    ['channels/40', { config: { callbackUrl: url } }, '/config/callbackUrl'],
    ['channels/40', { config: { deep: [{ hook: url }] } }, '/config/deep/0/hook'],
    ['actions/40', { moduleUrl: url }, '/moduleUrl'],
    ['actions/40', { spec: spec(url) }, '/spec'],
    ['subscriptions/40', { url }, '/url'],
    ['configs/40', { name: 'model', value: { baseUrl: url } }, '/value/baseUrl'],
  ])('%s with %j is refused', async (path, part, at) => {
    const [resource = ''] = path.split('/')
    const body = { ...bodies[resource as keyof typeof bodies], ...part }
    for (const { status, json } of [
      await put(path, body),
      await server.call('POST', `/rest/${resource}`, { body }),
      await server.call('POST', '/rest/import', {
        body: { version: 1, resources: { [resource]: [{ _id: 40, ...body }] } },
      }),
    ]) {
      expect([status, json.errors[0].code, json.errors[0].path.endsWith(at)]).toEqual([
        422,
        'user_information',
        true,
      ])
      expect(JSON.stringify(json)).toContain('a config named credentials')
    }
  })

  test('that was stored before is shown to writers, may be sent again, moves nowhere, and is found by a check', async () => {
    await put('channels/41', { ...bodies.channels, handlerUrl: 'https://h.example/' })
    const channels = server.database.collection('channels')
    await channels.updateOne({ '_id.id': 41 }, { $set: { 'doc.handlerUrl': url }, $inc: { version: 1 } })
    expect((await get('channels/41', 'VIEWER')).json.handlerUrl).toBe(`https://${MASK}@h.example/`)
    const { json } = await get('channels/41')
    expect(json.handlerUrl).toBe(url)
    expect((await put('channels/41', json)).status).toBe(200)
    expect(JSON.stringify(await channels.findOne({ '_id.id': 41 }))).not.toContain('u:p')
    expect((await patch('channels/41', { handlerUrl: `https://${MASK}@h.example/b` })).json.handlerUrl).toBe(
      'https://u:p@h.example/b',
    )
    expect((await patch('channels/41', { handlerUrl: 'https://u:p@other.example/' })).status).toBe(422)
    const { json: found } = await get('check')
    expect(found.data).toContainEqual(
      expect.objectContaining({
        code: 'user_information',
        resource: 'channels',
        _id: 41,
        path: '/handlerUrl',
      }),
    )
  })
})

test('a check names URLs whose query looks like a key, and no others', async () => {
  await put('actions/50', { ...bodies.actions, moduleUrl: `https://m.example/?k=${canary()}` })
  await put('actions/51', { ...bodies.actions, moduleUrl: 'https://m.example/?version=2' })
  await put('channels/50', { ...bodies.channels, config: { callbackUrl: `https://m.example/?api_key=1` } })
  const { json, text } = await get('check')
  const found = json.data.filter(({ code }: { code: string }) => code === 'key_in_url')
  const at = found.map(({ resource, _id, path }: Record<string, string>) => `${resource}/${_id}${path}`)
  expect(at).toEqual(expect.arrayContaining(['actions/50/moduleUrl', 'channels/50/config/callbackUrl']))
  expect(at).not.toContain('actions/51/moduleUrl')
  expect(text).not.toContain(CANARY)
})
