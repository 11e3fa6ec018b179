import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { respondToClientErrors } from '@parley/shared/http-server'
import { stop, systemForTests } from './gateway-system.ts'

const HEADERS_MS = 300
const REQUEST_MS = 600

const system = systemForTests()

test.each([
  ['headers', 'GET /rest/jobs HTTP/1.1\r\nHost: x\r\n'],
  [
    'a body',
    'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
  ],
])('%s that never end get 408, and other requests go on meanwhile', async (_what, text) => {
  const limits = { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 50 }
  const server = createServer(limits, (req, res) => system.app(req, res))
  respondToClientErrors(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const response = new Promise<string>((resolve) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      received += String(chunk)
    })
    socket.on('close', () => resolve(received))
  })
  expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
  expect(await response).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s)
  await stop(server)
})
