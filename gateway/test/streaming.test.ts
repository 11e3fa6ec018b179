import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { finished } from 'node:stream/promises'
import { expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { gatewayUnderTest } from './gateway-system.ts'

const CHUNK = Buffer.alloc(65_536, 'x')
const MIB = 1024 * 1024
const UPLOAD_BYTES = 16 * MIB
const DOWNLOAD_BYTES = 64 * MIB
// The bytes that the sockets of two connections and the gateway's small buffers may contain.
const BUFFERED_BYTES = 12 * MIB
const STILL_MS = 500

const gateway = gatewayUnderTest({ backend: 'webhook' })

/** Waits until `count` has not changed for half a second. */
async function standsStill(count: () => number): Promise<boolean> {
  let last = count()
  let since = performance.now()
  return waitUntil(
    () => {
      if (count() !== last) {
        last = count()
        since = performance.now()
      }
      return last > 0 && performance.now() - since > STILL_MS
    },
    { timeoutMs: 20_000, intervalMs: 20 },
  )
}

test('an upload of 16 MiB stays with its caller while the service does not read, and then arrives whole', async () => {
  let arrived = 0
  let read = () => undefined as unknown
  gateway.backend.respond = (req, res) => {
    read = () =>
      req
        .on('data', (chunk: Buffer) => {
          arrived += chunk.length
        })
        .on('end', () => res.end('{}'))
  }
  const upload = request(`${gateway.system.url}/api/hooks/whatsapp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.token}`,
      'content-type': 'application/json',
      'content-length': UPLOAD_BYTES,
    },
  })
  const responded = once(upload, 'response')
  let taken = 0
  const sending = (async () => {
    for (let sent = 0; sent < UPLOAD_BYTES; sent += CHUNK.length) {
      const free = upload.write(CHUNK)
      taken += CHUNK.length
      if (!free) await once(upload, 'drain')
    }
    upload.end()
  })()
  expect(await standsStill(() => taken)).toBe(true)
  expect(taken).toBeLessThan(BUFFERED_BYTES)
  read()
  await sending
  const [response] = await responded
  response.resume()
  await finished(response)
  expect([response.statusCode, arrived]).toEqual([200, UPLOAD_BYTES])
})

test('a response of 64 MiB stays at the service while the caller does not read, and then arrives whole', async () => {
  let taken = 0
  gateway.backend.respond = (_req, res) => void write(res)
  async function write(res: ServerResponse): Promise<void> {
    for (; taken < DOWNLOAD_BYTES; taken += CHUNK.length) if (!res.write(CHUNK)) await once(res, 'drain')
    res.end()
  }
  const socket = connect(Number(new URL(gateway.system.url).port), '127.0.0.1')
  socket.pause()
  socket.write(
    `POST /api/hooks/whatsapp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\n` +
      'Connection: close\r\nContent-Length: 0\r\n\r\n',
  )
  expect(await standsStill(() => taken)).toBe(true)
  expect(taken).toBeLessThan(DOWNLOAD_BYTES / 2)
  let received = 0
  socket.on('data', (chunk) => {
    received += chunk.length
  })
  socket.resume()
  await once(socket, 'close')
  expect(received).toBeGreaterThanOrEqual(DOWNLOAD_BYTES)
})
