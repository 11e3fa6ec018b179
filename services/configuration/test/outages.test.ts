import { expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests({ proxies: ['mongo'] })
const write = () => server.call('PUT', '/rest/jobs/1', { body: bodies.jobs })

test('while the database is unavailable every request gets 503 within ten seconds, and succeeds once it is back', async () => {
  expect((await write()).status).toBe(200)
  server.proxies.mongo.cut()
  const began = performance.now()
  const responses = await Promise.all([
    write(),
    server.call('POST', '/rest/jobs', { body: bodies.jobs }),
    server.call('GET', '/rest/jobs/1'),
    server.call('GET', '/rest/jobs'),
    server.call('DELETE', '/rest/jobs/1'),
    server.call('GET', '/rest/jobs/1/history'),
    server.call('GET', '/rest/check'),
    server.call('GET', '/rest/export'),
    server.callAs('dispatcher', '/internal/workspaces/1/jobs/1'),
  ])
  expect(responses.map(({ status, json }) => [status, json.code])).toEqual(
    responses.map(() => [503, 'unavailable']),
  )
  expect(responses.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true)
  expect(performance.now() - began).toBeLessThan(10_000)
  const ready = await fetch(`${server.url}/health/ready`)
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'not ready', dependencies: { mongodb: 'down' } },
  ])
  server.proxies.mongo.mend()
  const back = await eventually(write, ({ status }) => status === 200)
  await eventually(
    () => server.call('GET', '/rest/jobs/1/history'),
    ({ json }) => `"${json.data?.[0]?.version}"` === back.headers.get('etag'),
  )
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
})

test('a role that identity does not know is refused, not let in', async () => {
  const response = await server.call('GET', '/rest/jobs', { role: 'unknown' })
  expect([response.status, response.json.code]).toEqual([403, 'forbidden'])
})
