import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type Network, startNetwork } from './network.ts'

const DELAY_MS = 60
const PIECES = Array.from({ length: 400 }, (_, n) => `${n};`)

let echo: Server
let network: Network
const there = new Set<Socket>()
beforeEach(async () => {
  echo = createServer((socket) => {
    there.add(socket)
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
  network = await startNetwork({ host: '127.0.0.1', ports: [(echo.address() as AddressInfo).port] })
})
afterEach(async () => {
  await network.close()
  for (const socket of there) socket.destroy()
  await new Promise((resolve) => echo.close(resolve))
})

/** Sends the pieces one by one and returns all that came back. */
async function sendAndReceive(): Promise<string> {
  const socket = connect(network.port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text) => {
    received += text
  })
  for (const piece of PIECES) await new Promise((resolve) => socket.write(piece, resolve))
  socket.end()
  await once(socket, 'close')
  return received
}

test('everything passes in order', async () => {
  expect(await sendAndReceive()).toBe(PIECES.join(''))
})

test('a slow network keeps the order, and takes its time there and back', async () => {
  network.slow(DELAY_MS)
  const began = performance.now()
  expect(await sendAndReceive()).toBe(PIECES.join(''))
  expect(performance.now() - began).toBeGreaterThanOrEqual(2 * DELAY_MS)
})

test('a cut network drops the connections and takes no other until it is mended', async () => {
  const socket = connect(network.port, '127.0.0.1').on('error', () => {})
  await once(socket, 'connect')
  network.cut()
  await once(socket, 'close')
  const refused = connect(network.port, '127.0.0.1').on('error', () => {})
  await once(refused, 'close')
  network.mend()
  expect(await sendAndReceive()).toBe(PIECES.join(''))
})
