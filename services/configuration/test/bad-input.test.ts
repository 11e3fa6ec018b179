import { describe, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()

const put = (path: string, body: unknown) => server.call('PUT', path, { body })
const MIB = 1024 * 1024

/** Stores a task whose context is larger than a body may be. */
async function storeContext(id: number, context: object): Promise<void> {
  expect((await put(`/rest/tasks/${id}`, bodies.tasks)).status).toBe(200)
  await server.database
    .collection('tasks')
    .updateOne({ '_id.id': id }, { $set: { 'doc.context': context }, $inc: { version: 1 } })
}

describe('large input', () => {
  test('a string of 1 MiB is stored whole, also where its field is indexed', async () => {
    const name = 'é'.repeat(MIB / 2)
    const response = await put('/rest/steps/1', { ...bodies.steps, name, instructions: name })
    expect(response.status).toBe(200)
    const read = await server.call('GET', '/rest/steps/1')
    expect(read.json.name === name && read.json.instructions === name).toBe(true)
  })

  test('a list of 100,000 ids is stored and can be filtered by', async () => {
    const actions = Array.from({ length: 100_000 }, (_, at) => at)
    expect((await put('/rest/assistant/1', { ...bodies.assistant, actions })).status).toBe(200)
    const list = await server.call('GET', '/rest/assistant?actions=99999&sort=-updatedAt')
    expect(list.json.data[0].actions).toEqual(actions)
  })

  test('a body over 4 MiB is 413, one that the store cannot hold too', async () => {
    const body = { ...bodies.steps, instructions: 'x'.repeat(5 * MIB) }
    expect((await put('/rest/steps/2', body)).status).toBe(413)
    // Each is some 4 MB, and what is stored has all of it.
    const part = 'x'.repeat(4_190_000)
    await storeContext(2, { a: part, b: part, c: part, d: part })
    const { status, json } = await server.call('PATCH', '/rest/tasks/2', { body: { context: { e: part } } })
    expect([status, json.code]).toEqual([413, 'body_too_large'])
  })

  test('a document whose event the broker could not take is 413', async () => {
    const patch = (context: object) => server.call('PATCH', '/rest/tasks/3', { body: { context } })
    // In JSON each character takes six bytes: some 4 MB, where the database stores 0.7 MB.
    const part = '\u0001'.repeat(680_000)
    await storeContext(3, { a: part, b: part, c: part, d: part })
    const { status, json } = await patch({ e: part })
    expect([status, json.code]).toEqual([413, 'body_too_large'])
    expect((await patch({ a: null, e: part })).status).toBe(200)
  })

  test('lists of large documents come in pages of bounded size, and lose none', async () => {
    const instructions = 'x'.repeat(3 * MIB)
    for (let id = 1; id <= 5; id++) {
      await server.call('PUT', `/rest/workflows/${id}`, { body: { ...bodies.workflows, instructions } })
    }
    const seen: number[] = []
    let path = '/rest/workflows?limit=200'
    for (let pages = 0; pages < 10; pages++) {
      const { text, json } = await server.call('GET', path)
      expect(text.length).toBeLessThan(9 * MIB)
      seen.push(...json.data.map(({ _id }: { _id: number }) => _id))
      if (json.next === null) break
      path = `/rest/workflows?limit=200&after=${json.next}`
    }
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })
})

test('numbers: integers must be safe, free-form ones what a double holds', async () => {
  for (const job of [2 ** 53, -(2 ** 53), 1.5, '1', 1e300]) {
    expect([job, (await put('/rest/steps/3', { ...bodies.steps, job })).status]).toEqual([job, 422])
  }
  for (const job of [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    expect((await put('/rest/steps/3', { ...bodies.steps, job })).json.job).toBe(job)
  }
  const raw = JSON.stringify({ ...bodies.tasks, context: { big: 0 } })
  for (const big of ['12345678901234567890', '1e999']) {
    const refused = await server.call('PUT', '/rest/tasks/3', { raw: raw.replace('"big":0', `"big":${big}`) })
    expect([big, refused.status, refused.json.errors[0].path]).toEqual([big, 422, '/context/big'])
  }
})

test("a value that can't be stored as it is is refused with its path", async () => {
  const body = (context: string) =>
    server.call('PUT', '/rest/tasks/4', {
      raw: JSON.stringify({ ...bodies.tasks, context: 0 }).replace('"context":0', `"context":${context}`),
    })
  expect((await body('{"a\\u0000b":1}')).status).toBe(422)
  expect((await body('{"a":"\\ud800"}')).status).toBe(422)
  expect((await body('{"\\udfff":1}')).status).toBe(422)
  expect((await body(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)).json.code).toBe('too_deep')
  expect((await body(`${'{"a":'.repeat(31)}1${'}'.repeat(31)}`)).status).toBe(200)
  expect((await body('{"a":"a\\u0000b"}')).json.context).toEqual({ a: 'a\0b' })
})

test('a body that is not JSON, or of another type, is refused with its own error code', async () => {
  expect((await server.call('PUT', '/rest/tasks/5', { raw: '{"name": ' })).json.code).toBe('malformed_json')
  const text = await server.call('PUT', '/rest/tasks/5', {
    raw: '{}',
    headers: { 'content-type': 'text/plain' },
  })
  expect(text.status).toBe(415)
})

test('settings that the runtime knows are checked where they are there', async () => {
  const send = (config: unknown) => put('/rest/channels/6', { ...bodies.channels, config })
  expect((await send({ assistantId: 'one' })).json.errors[0].path).toBe('/config/assistantId')
  expect((await send({ streamResponseBy: 3 })).json.errors[0].path).toBe('/config/streamResponseBy')
  for (const config of [{}, { assistantId: 0 }, { assistantId: null }])
    expect((await send(config)).status).toBe(200)
})

test.each([
  ['maxTurns', 1, 32],
  ['turnTimeoutSeconds', 1, 300],
  ['messageTimeoutSeconds', 1, 3_600],
  ['gatherMs', 0, 30_000],
  ['historyTokens', 0, 200_000],
  ['historyLimit', 0, 200],
  ['dailyTokens', 1, Number.MAX_SAFE_INTEGER],
  ['handlerTimeoutSeconds', 1, 120],
])("a channel's %s is a whole number from %d to %d", async (name, min, max) => {
  const send = (value: unknown) => put('/rest/channels/6', { ...bodies.channels, config: { [name]: value } })
  for (const value of [min, max, null]) expect([value, (await send(value)).status]).toEqual([value, 200])
  for (const value of [min - 1, max + 1, min + 0.5, '7', true]) {
    const { status, json } = await send(value)
    expect([value, status, json.errors?.[0]?.path]).toEqual([value, 422, `/config/${name}`])
  }
})

test.each([
  ['handlerContext', [true, false, null], ['true', 1]],
  ['typing', [true, false, null], ['no', 0]],
  ['fallbackMessage', ['Sorry.', '', null], [7, {}]],
  ['handOffUrl', ['https://example.com/hand-off', null], ['here', 7]],
])("a channel's %s has its type", async (name, right, wrong) => {
  const send = (value: unknown) => put('/rest/channels/6', { ...bodies.channels, config: { [name]: value } })
  for (const value of right) expect([value, (await send(value)).status]).toEqual([value, 200])
  for (const value of wrong) {
    const { status, json } = await send(value)
    expect([value, status, json.errors?.[0]?.path]).toEqual([value, 422, `/config/${name}`])
  }
})

test('URLs are what URL.canParse takes', async () => {
  const send = (handlerUrl: unknown) => put('/rest/channels/7', { ...bodies.channels, handlerUrl })
  for (const url of [
    'https://example.com/hook',
    'http://127.0.0.1:9/x',
    'native:agents/taskManager',
    'native:request',
  ]) {
    expect([url, (await send(url)).json.handlerUrl]).toEqual([url, url])
  }
  for (const url of ['not a url', '', '/relative', 7, null]) expect((await send(url)).status).toBe(422)
})

test('query parameters that are not published are refused by name', async () => {
  for (const [query, path] of [
    ['name[$ne]=x', 'name[$ne]'],
    ['name=a&name=b', 'name'],
    ['backstory=x', 'backstory'],
    ['__proto__=x', '__proto__'],
    ['workflow=abc', 'workflow'],
    ['workflow=1e3', 'workflow'],
    ['workflow=9007199254740992', 'workflow'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1.5', 'limit'],
    ['sort=context', 'sort'],
    ['sort=', 'sort'],
    ['sort=toString', 'sort'],
    ['name=a&sort=status', 'sort'],
    ['after=', 'after'],
    ['after=abc', 'after'],
    [`after=${Buffer.from('["_id",{"$gt":1},1]').toString('base64url')}`, 'after'],
    [`after=${Buffer.from('["name","x",1]').toString('base64url')}`, 'after'],
    [`after=${Buffer.from('["_id",null,1.5]').toString('base64url')}`, 'after'],
  ]) {
    const response = await server.call('GET', `/rest/tasks?${query}`)
    expect([query, response.status, response.json.errors?.[0].path]).toEqual([query, 422, `/${path}`])
  }
  expect((await server.call('GET', '/rest/tasks/1?fields=name')).status).toBe(422)
  expect((await server.call('DELETE', '/rest/tasks/1?force=yes')).status).toBe(422)
})

test('a path below no resource is 404', async () => {
  expect((await server.call('GET', '/rest/nothing-here')).status).toBe(404)
  expect((await server.call('GET', '/rest/__proto__')).status).toBe(404)
})
