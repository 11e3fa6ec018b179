import { randomBytes } from 'node:crypto'
import { describe, expect, test } from '@jest/globals'
import { parseConfig } from '@parley/shared/config'
import {
  createSecretBox,
  openSecrets,
  secretKeyring,
  secretKeysConfig,
  secretKeysOf,
} from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { z } from 'zod'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const entry = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2] = [entry('k1'), entry('k2')]
const secret = (name: string) => `${name}-that-stands-here-in-the-clear`
const config = {
  accessToken: secret('token'),
  phoneNumberId: '123',
  signingSecrets: [secret('first'), secret('second')],
  nested: {
    credentials: { user: secret('user'), pin: 47114711471147, deep: [{ apiKey: secret('deep') }] },
    note: 'open',
  },
}
const masked = {
  accessToken: MASK,
  phoneNumberId: '123',
  signingSecrets: [MASK, MASK],
  nested: { credentials: { user: MASK, pin: MASK, deep: [{ apiKey: MASK }] }, note: 'open' },
}
const channel = { ...bodies.channels, config }

const server = configurationForTests({
  environment: { SECRET_KEYS: k1 },
  roles: { LOW: [{ schema: 'true', read: 'true', write: '{{doc._id}} < 5' }] },
})

const put = (path: string, body: unknown) => server.call('PUT', `/rest/${path}`, { body })
const get = (path: string, role?: string) => server.call('GET', `/rest/${path}`, role ? { role } : {})

test('secrets are shown to those who may write the document, masked to others', async () => {
  const written = await put('channels/1', channel)
  expect(written.json.config).toEqual(config)
  await put('channels/9', channel)
  expect((await get('channels/1')).json.config).toEqual(config)
  expect((await get('channels/1', 'VIEWER')).json.config).toEqual(masked)
  expect((await get('channels/1', 'LOW')).json.config).toEqual(config)
  expect((await get('channels/9', 'LOW')).json.config).toEqual(masked)
  const configs = async (role: string) =>
    (await get('channels', role)).json.data.map(({ config }: { config: unknown }) => config)
  expect(await configs('LOW')).toEqual([config, masked])
  expect(await configs('VIEWER')).toEqual([masked, masked])
})

test('a masked document has another entity tag than the plain one', async () => {
  const [full, part] = [await get('channels/1'), await get('channels/1', 'VIEWER')]
  expect(full.headers.get('etag')).not.toBe(part.headers.get('etag'))
  const known = { 'if-none-match': part.headers.get('etag') ?? '' }
  expect((await server.call('GET', '/rest/channels/1', { headers: known })).status).toBe(200)
  expect((await server.call('GET', '/rest/channels/1', { headers: known, role: 'VIEWER' })).status).toBe(304)
})

test('no collection of the database contains a secret in the clear', async () => {
  await put('channels/1', { ...channel, config: { ...config, accessToken: secret('other') } })
  await eventually(
    () => get('channels/1/history'),
    ({ json }) => json.data?.length === 2,
  )
  const { database } = server
  const names = (await database.listCollections().toArray()).map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['channels', 'history']))
  const all = await Promise.all(names.map((name) => database.collection(name).find().toArray()))
  expect(JSON.stringify(all)).toContain('sealed:k1:')
  expect(JSON.stringify(all)).not.toContain('in-the-clear')
  expect(JSON.stringify(all)).not.toContain('47114711471147')
})

test('history has its secrets masked for all but those who may write the whole resource', async () => {
  const change = async (role: string) => (await get('channels/1/history', role)).json.data[0].changes
  expect(await change('WORKSPACE_ADMIN')).toEqual([
    { path: '/config/accessToken', before: secret('token'), after: secret('other') },
  ])
  for (const role of ['LOW', 'VIEWER'])
    expect(await change(role)).toEqual([{ path: '/config/accessToken', before: MASK, after: MASK }])
  const created = (await get('channels/1/history', 'VIEWER')).json.data[1].changes
  expect(created).toContainEqual({ path: '/config', after: masked })
})

test('a mask in a body leaves the stored secret unchanged, and is refused where none is stored', async () => {
  const stored = await put('channels/2', channel)
  const again = await put('channels/2', { ...channel, name: 'New', config: masked })
  expect(again.json.config).toEqual(config)
  const patched = await server.call('PATCH', '/rest/channels/2', {
    body: {
      config: { signingSecrets: [secret('third'), MASK, MASK], nested: { credentials: { user: MASK } } },
    },
  })
  const signingSecrets = [secret('third'), secret('first'), secret('second')]
  expect(patched.json.config).toEqual({ ...config, signingSecrets })
  expect(stored.json.createdAt).toBe(patched.json.createdAt)
  const replaced = await server.call('PATCH', '/rest/channels/2', {
    body: { config: { signingSecrets: [MASK, MASK, secret('fourth')] } },
  })
  expect(replaced.json.config.signingSecrets).toEqual([secret('third'), secret('first'), secret('fourth')])

  const errors = async (method: string, path: string, body: unknown) => {
    const response = await server.call(method, `/rest/${path}`, { body })
    return [response.status, response.json.errors?.map((error: { path: string }) => error.path)]
  }
  const token = { ...channel, config: { accessToken: MASK, description: MASK } }
  expect(await errors('PUT', 'channels/50', token)).toEqual([422, ['/config/accessToken']])
  expect(await errors('POST', 'channels', token)).toEqual([422, ['/config/accessToken']])
  expect(await errors('PUT', 'channels/2', { ...channel, config: { 'a/b': { apiKey: MASK } } })).toEqual([
    422,
    ['/config/a~1b/apiKey'],
  ])
  const wider = { config: { signingSecrets: [MASK, MASK, MASK, MASK] } }
  expect(await errors('PATCH', 'channels/2', wider)).toEqual([
    422,
    [0, 1, 2, 3].map((at) => `/config/signingSecrets/${at}`),
  ])
})

describe('a mask in a list', () => {
  const servers = (...names: string[]) => names.map((name) => ({ name, token: secret(name) }))
  const withMask = (...names: string[]) => names.map((name) => ({ name, token: MASK }))
  const patch = async (part: object) => {
    const { status, json } = await server.call('PATCH', '/rest/channels/8', { body: { config: part } })
    return status === 200 ? json.config : [status, json.errors]
  }
  const nothingAt = (path: string) => [422, [expect.objectContaining({ path, code: 'nothing_stored' })]]

  test('keeps the secret of the item it stands in, wherever that was', async () => {
    await put('channels/8', { ...channel, config: { servers: servers('a', 'b', 'c') } })
    expect(await patch({ servers: withMask('c', 'b') })).toEqual({ servers: servers('c', 'b') })
    expect(await patch({ servers: withMask('renamed', 'b') })).toEqual({
      servers: [{ name: 'renamed', token: secret('c') }, ...servers('b')],
    })
    expect(await patch({ servers: [...withMask('b'), { name: 'd', token: MASK }] })).toEqual(
      nothingAt('/config/servers/1/token'),
    )
  })

  test('is refused beside a new signing secret that may stand for either of the stored ones', async () => {
    await put('channels/8', { ...channel, config: { signingSecrets: [secret('current'), secret('old')] } })
    expect(await patch({ signingSecrets: [secret('new'), MASK] })).toEqual(
      nothingAt('/config/signingSecrets/1'),
    )
    expect(await patch({ signingSecrets: [secret('current'), MASK] })).toEqual({
      signingSecrets: [secret('current'), secret('old')],
    })
  })
})

test('the same secrets sent again change nothing, and a mask does not restore the secret of a deleted document', async () => {
  await put('channels/3', channel)
  await put('channels/3', channel)
  await put('channels/3', { ...channel, config: masked })
  const { json } = await eventually(
    () => get('channels/3/history'),
    (response) => response.json.data?.length === 3,
  )
  expect(json.data.map(({ changes }: { changes: unknown[] }) => changes.length)).toEqual([0, 0, 7])
  await server.call('DELETE', '/rest/channels/3')
  expect((await put('channels/3', { ...channel, config: masked })).status).toBe(422)
})

test('configs and tasks have secrets too; texts that look sealed are secrets like any other', async () => {
  const value = { apiKey: 'sealed:k1:AAAA', provider: 'x' }
  await put('configs/key', { ...bodies.configs, value })
  expect((await get('configs/key')).json.value).toEqual(value)
  expect((await get('configs/key', 'VIEWER')).json.value).toEqual({ apiKey: MASK, provider: 'x' })
  const context = { credentials: 'sealed:k1:AAAA', open: 'sealed:k1:AAAA' }
  await put('tasks/1', { ...bodies.tasks, context })
  expect((await get('tasks/1')).json.context).toEqual(context)
  expect((await get('tasks/1', 'VIEWER')).json.context).toEqual({ credentials: MASK, open: 'sealed:k1:AAAA' })
})

test('populated documents are masked by what the caller may do with them', async () => {
  await put('configs/4', { ...bodies.configs, value: { apiKey: secret('four') } })
  await put('configs/6', { ...bodies.configs, value: { apiKey: secret('six') } })
  await put('assistant/1', { ...bodies.assistant, configs: [4, 6] })
  const { json } = await get('assistant/1?_populate=configs', 'LOW')
  expect(json.configs.map(({ value }: { value: unknown }) => value)).toEqual([
    { apiKey: secret('four') },
    { apiKey: MASK },
  ])
})

test('an export is masked by default, and importing it leaves the masked secrets unchanged', async () => {
  const plain = await get('export?secrets=true', 'LOW')
  const channels = (exported: typeof plain) =>
    Object.fromEntries(
      exported.json.resources.channels.map((each: typeof channel & { _id: number }) => [
        each._id,
        each.config,
      ]),
    )
  expect(channels(plain)).toMatchObject({ 2: { accessToken: secret('token') }, 9: masked })
  const all = await get('export')
  expect(all.text).not.toContain('in-the-clear')
  const load = (body: unknown, workspace = 1) => server.call('POST', '/rest/import', { body, workspace })
  expect((await load(all.json)).json.summary).toMatchObject({ create: 0, update: 0 })
  expect((await get('channels/9')).json.config).toEqual(config)
  const elsewhere = await load(all.json, 2)
  expect([elsewhere.status, elsewhere.json.errors[0].path]).toEqual([
    422,
    '/resources/channels/0/config/accessToken',
  ])
  expect((await load((await get('export?secrets=true')).json, 2)).status).toBe(200)
  const theirs = await server.call('GET', '/rest/channels/9', { workspace: 2 })
  expect(theirs.json.config).toEqual(config)
})

test('services get them sealed, and open them with the key', async () => {
  const { json } = await server.callAs('dispatcher', '/internal/workspaces/1/channels?extId=support-line')
  const given = json.data.find(({ _id }: { _id: number }) => _id === 9).config
  expect(given.accessToken).toMatch(/^sealed:/)
  expect(openSecrets({ config: given }, createSecretBox(secretKeyring.parse(k1)), 1)).toEqual({ config })
})

test('keys can be changed: old secrets are read, and sealed anew when they are written', async () => {
  const changed = await server.startInstance({ SECRET_KEYS: `${k2},${k1}` })
  const lost = await server.startInstance({ SECRET_KEYS: k2 })
  expect((await changed.call('GET', '/rest/channels/9')).json.config).toEqual(config)
  expect((await lost.call('GET', '/rest/channels/9')).json.config).toEqual(masked)
  await lost.call('PUT', '/rest/channels/9', { body: { ...channel, config: masked } })
  await changed.call('PATCH', '/rest/channels/9', { body: { name: 'Sealed anew' } })
  expect((await lost.call('GET', '/rest/channels/9')).json.config).toEqual(config)
})

test('the entity tag of a document with a secret that can not be opened lets its writer write over it', async () => {
  const lost = await server.startInstance({ SECRET_KEYS: entry('k3') })
  await put('channels/65', channel)
  const read = await lost.call('GET', '/rest/channels/65')
  const tag = read.headers.get('etag') ?? ''
  expect([read.json.config, tag]).toEqual([masked, '"1-masked"'])
  const write = (header: string, value: string) =>
    lost.call('PUT', '/rest/channels/65', {
      body: { ...channel, config: masked },
      headers: { [header]: value },
    })
  expect((await write('if-none-match', tag)).status).toBe(412)
  expect((await write('if-match', tag)).status).toBe(200)
  expect((await write('if-match', tag)).status).toBe(412)
  expect((await write('if-match', '"2"')).status).toBe(200)
  expect((await get('channels/65')).json.config).toEqual(config)
})

test('without keys there is one for development, and no start in production', () => {
  const start = (NODE_ENV: string) => parseConfig(z.object(secretKeysConfig), { NODE_ENV })
  expect(secretKeysOf(start('development')).current.id).toBe('development')
  expect(() => start('production')).toThrow('SECRET_KEYS: is required in production')
})

const NAMES = ['password', 'token', 'clientSecret', 'secret']
const named = Object.fromEntries(NAMES.map((name) => [name, secret(name)]))
const namedMasked = Object.fromEntries(NAMES.map((name) => [name, MASK]))

test('password, token, clientSecret and secret are secrets by their names', async () => {
  const body = { ...channel, config: { login: named, note: 'open' } }
  expect((await put('channels/60', body)).json.config).toEqual(body.config)
  expect((await get('channels/60', 'VIEWER')).json.config).toEqual({ login: namedMasked, note: 'open' })
  const stored = await server.database.collection('channels').findOne({ '_id.id': 60 })
  expect(JSON.stringify(stored)).not.toContain('in-the-clear')
})

test('what is stored in the clear under such a name is read, masked to others, and sealed when it is next written', async () => {
  const id = 61
  await put(`channels/${id}`, { ...channel, config: { note: 'open' } })
  const channels = server.database.collection('channels')
  await channels.updateOne({ '_id.id': id }, { $set: { 'doc.config.login': named }, $inc: { version: 1 } })
  expect((await get(`channels/${id}`)).json.config).toEqual({ note: 'open', login: named })
  expect((await get(`channels/${id}`, 'VIEWER')).json.config.login).toEqual(namedMasked)
  const patched = await server.call('PATCH', `/rest/channels/${id}`, { body: { description: 'new' } })
  expect([patched.status, patched.json.config.login]).toEqual([200, named])
  const stored = JSON.stringify(await channels.findOne({ '_id.id': id }))
  expect(stored).not.toContain('in-the-clear')
})

test('a response with a plain secret has no-store, and one without may be cached privately', async () => {
  await put('channels/62', channel)
  const caching = async (path: string, role?: string) => (await get(path, role)).headers.get('cache-control')
  for (const path of ['channels/62', 'channels', 'channels/62/history', 'export?secrets=true'])
    expect([path, await caching(path)]).toEqual([path, 'no-store'])
  for (const path of ['channels/62', 'channels', 'export'])
    expect([path, await caching(path, 'VIEWER')]).toEqual([path, 'private, no-cache'])
  expect((await put('channels/62', channel)).headers.get('cache-control')).toBe('no-store')
})

describe('a signing secret', () => {
  const bytes = (count: number) => `whsec_${randomBytes(count).toString('base64')}`
  const withSecrets = (...signingSecrets: string[]) => ({ ...channel, config: { signingSecrets } })

  test.each([
    ['a text of 23 bytes', `${'x-'.repeat(11)}x`],
    ['23 bytes in base64', bytes(23)],
    ['32 characters that are 23 bytes', Buffer.alloc(23, 'y').toString('base64')],
    ['nothing', ''],
  ])('of %s is refused, with its place', async (_what, short) => {
    const { status, json } = await put('channels/63', withSecrets(bytes(24), short))
    expect([status, json.errors]).toEqual([
      422,
      [{ path: '/config/signingSecrets/1', code: 'too_small', message: 'expected at least 24 bytes' }],
    ])
  })

  test('a signing secret of 24 bytes is accepted, and a shorter one that was stored earlier stays valid', async () => {
    expect((await put('channels/64', withSecrets(bytes(24), 'x-'.repeat(12)))).status).toBe(200)
    const channels = server.database.collection('channels')
    const box = createSecretBox(secretKeyring.parse(k1))
    const workspace =
      (await channels.findOne<{ _id: { workspace: number } }>({ '_id.id': 64 }))?._id.workspace ?? 0
    const change = {
      $set: { 'doc.config.signingSecrets': [box.seal('short', workspace), 'plain'] },
      $inc: { version: 1 },
    }
    await channels.updateOne({ '_id.id': 64 }, change)
    const { json } = await get('channels/64')
    expect(json.config.signingSecrets).toEqual(['short', 'plain'])
    expect((await put('channels/64', json)).status).toBe(200)
    expect((await server.call('PATCH', '/rest/channels/64', { body: { name: 'n' } })).status).toBe(200)
    expect((await put('channels/64', withSecrets(MASK, MASK))).json.config.signingSecrets).toEqual([
      'short',
      'plain',
    ])
    expect((await put('channels/64', withSecrets('other'))).status).toBe(422)
  })
})
