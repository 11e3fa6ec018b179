import { beforeAll, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { type ConfigurationServer, configurationForTests } from './configuration-server.ts'

// An instance remembers what it wrote last; another instance has written since.
const first = configurationForTests({
  roles: { OPEN: [{ schema: 'true', read: 'true', write: "{{doc.name}} == 'open'" }] },
})
let second: ConfigurationServer
beforeAll(async () => {
  second = await first.startInstance()
})

const named = (name: string) => ({ ...bodies.steps, name })

test("each instance continues from the other's writes", async () => {
  for (let version = 1; version <= 10; version++) {
    const instance = version % 2 === 0 ? first : second
    const { headers } = await instance.call('PUT', '/rest/steps/1', { body: named(`by ${version}`) })
    expect(headers.get('etag')).toBe(`"${version}"`)
  }
  const { json } = await first.call('GET', '/rest/steps/1')
  expect(json.name).toBe('by 10')
  expect(json.updatedAt > json.createdAt).toBe(true)
})

test('preconditions are checked against the stored version, whichever instance wrote it', async () => {
  await first.call('PUT', '/rest/steps/2', { body: named('one') })
  await second.call('PUT', '/rest/steps/2', { body: named('two') })
  const ifMatch = (tag: string) =>
    first.call('PUT', '/rest/steps/2', { body: named('three'), headers: { 'if-match': tag } })
  expect((await ifMatch('"2"')).status).toBe(200)
  await second.call('PUT', '/rest/steps/2', { body: named('four') })
  expect((await ifMatch('"3"')).status).toBe(412)
  await second.call('DELETE', '/rest/steps/2?force=true')
  const anew = { body: named('five'), headers: { 'if-none-match': '*' } }
  expect((await first.call('PUT', '/rest/steps/2', anew)).headers.get('etag')).toBe('"6"')
})

test('permissions are checked on the stored document, whichever instance wrote it', async () => {
  const write = (instance: ConfigurationServer, name: string, role = 'WORKSPACE_ADMIN') =>
    instance.call('PUT', '/rest/steps/3', { body: named(name), role })
  await write(first, 'open')
  await write(second, 'closed')
  expect((await write(first, 'open', 'OPEN')).status).toBe(403)
  await write(first, 'closed')
  await write(second, 'open')
  expect((await write(first, 'open', 'OPEN')).status).toBe(200)
})

test('a masked secret leaves the stored one unchanged, whichever instance wrote it', async () => {
  const channel = (accessToken: string) => ({ body: { ...bodies.channels, config: { accessToken } } })
  await first.call('PUT', '/rest/channels/1', channel('old'))
  await second.call('PUT', '/rest/channels/1', channel('new'))
  const { json } = await first.call('PUT', '/rest/channels/1', channel('••••'))
  expect(json.config.accessToken).toBe('new')
})
