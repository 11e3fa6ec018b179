import { beforeEach, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests()
let id = 0
let etag = ''
beforeEach(async () => {
  const created = await server.call('POST', '/rest/steps', { body: bodies.steps })
  id = created.json._id
  etag = created.headers.get('etag') ?? ''
})

const send = (method: string, headers: Record<string, string>, at = id) =>
  server.call(method, `/rest/steps/${at}`, { headers, ...(method === 'PUT' ? { body: bodies.steps } : {}) })

test('GET responds 304 to a caller that has the document', async () => {
  for (const tag of [etag, `W/${etag}`, '*', `"other", ${etag}`]) {
    const response = await send('GET', { 'if-none-match': tag })
    expect([response.status, response.text, response.headers.get('etag')]).toEqual([304, '', etag])
  }
  expect((await send('GET', { 'if-none-match': '"other"' })).status).toBe(200)
})

test.each(['PUT', 'DELETE'])('%s with If-Match writes only over what the caller saw', async (method) => {
  for (const tag of ['"999"', `W/${etag}`, '']) {
    const response = await send(method, { 'if-match': tag })
    expect([tag, response.status, response.json.code]).toEqual([tag, 412, 'precondition_failed'])
  }
  expect((await send(method, { 'if-match': etag })).status).toBe(200)
  expect((await send(method, { 'if-match': etag })).status).toBe(method === 'PUT' ? 412 : 404)
})

test('PUT with If-Match: * replaces only, with If-None-Match: * creates only', async () => {
  expect((await send('PUT', { 'if-match': '*' })).status).toBe(200)
  expect((await send('PUT', { 'if-match': '*' }, 900_000 + id)).status).toBe(412)
  expect((await send('PUT', { 'if-none-match': '*' })).status).toBe(412)
  expect((await send('PUT', { 'if-none-match': '*' }, 800_000 + id)).status).toBe(200)
})

test('of writers that saw the same version exactly one succeeds', async () => {
  const responses = await Promise.all(Array.from({ length: 20 }, () => send('PUT', { 'if-match': etag })))
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(412)])
})

test('of creators with If-None-Match: * exactly one succeeds', async () => {
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => send('PUT', { 'if-none-match': '*' }, 700_000 + id)),
  )
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(412)])
})
