import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createHttpServer } from '@parley/shared/http-server'
import { createLog } from '@parley/shared/log'
import { createApp } from '@parley/shared/service-app'
import { untraced } from '@parley/shared/tracing'
import { Registry } from 'prom-client'

let checks = 0
const dependency = Promise.withResolvers<boolean>()
const app = createApp({
  log: createLog({ service: 'test', level: 'silent' }),
  registry: new Registry(),
  tracing: untraced,
  readiness: {
    required: {
      database: () => {
        checks++
        return dependency.promise
      },
    },
  },
  routes: (app) => app.get('/rest/things', (_req, res) => void res.json({ data: [] })),
})
const server = createHttpServer(app)
let port: number
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => new Promise((resolve) => server.close(resolve)))

/** Sends bytes as they are, and answers with everything that comes back until the connection ends. */
function exchange(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      received += String(chunk)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
  })
}

test('a path is another one in another case', async () => {
  const statuses = ['/rest/things', '/rest/Things', '/REST/things'].map(async (path) => {
    const { status } = await fetch(`http://127.0.0.1:${port}${path}`)
    return status
  })
  expect(await Promise.all(statuses)).toEqual([200, 404, 404])
})

test('an answer without a tag is not taken for one that the caller has', async () => {
  const head = 'Host: x\r\nIf-None-Match: *\r\nConnection: close\r\n'
  expect(await exchange(`GET /rest/things HTTP/1.1\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
})

test.each([
  ['no host', ''],
  ['two hosts', 'Host: a\r\nhost: b\r\n'],
])('a request that names %s is refused with a problem', async (_what, hosts) => {
  const response = await exchange(`GET /rest/things HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`)
  expect(response).toMatch(/^HTTP\/1\.1 400 .*x-request-id: .*"code":"malformed_request"/is)
})

test.each([
  ['a coding that nobody knows', 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
  ['a chunk of no size', 'Transfer-Encoding: chunked\r\n\r\nx\r\n{}\r\n0\r\n\r\n'],
])('a request that is answered before %s is met gets no second answer', async (_what, rest) => {
  const response = await exchange(`POST /rest/nothing HTTP/1.1\r\nHost: x\r\n${rest}`)
  expect(response.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
})

test('probes that come together ask a dependency once', async () => {
  let received = 0
  server.on('request', () => received++)
  const probes = Array.from({ length: 50 }, () => fetch(`http://127.0.0.1:${port}/health/ready`))
  expect(await waitUntil(() => received === 50, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  dependency.resolve(true)
  const statuses = await Promise.all(probes.map(async (probe) => (await probe).status))
  expect([new Set(statuses), checks]).toEqual([new Set([200]), 1])
  expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200)
  expect(checks).toBe(2)
})
