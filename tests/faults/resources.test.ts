import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { growth, leaks, readHoldings } from './resources.ts'

const usage = (mebibytes: number, sockets: number) => ({ mebibytes, sockets })

test('counts the memory and the sockets of a process', async () => {
  const before = readHoldings({ own: process.pid }).own
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const socket: Socket = connect(typeof address === 'object' && address !== null ? address.port : 0)
  await once(socket, 'connect')
  const now = readHoldings({ own: process.pid }).own
  expect(now?.mebibytes).toBeGreaterThan(20)
  expect((now?.sockets ?? 0) - (before?.sockets ?? 0)).toBeGreaterThanOrEqual(2)
  socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('leaves out what is gone', () => {
  expect(readHoldings({ gone: 2 ** 22 + 1 })).toEqual({})
})

test('the most that any process has grown', () => {
  const before = { a: usage(100, 5), b: usage(50, 5) }
  expect(growth(before, { a: usage(90, 9), b: usage(80, 4), fresh: usage(500, 500) })).toEqual(usage(30, 4))
})

test.each([
  ['as much as before', { gateway: usage(100, 10) }, []],
  ['a little more', { gateway: usage(250, 34) }, []],
  ['connections', { gateway: usage(100, 35) }, ['gateway holds 35 sockets after 10']],
  ['memory', { gateway: usage(251, 10) }, ['gateway holds 251 MiB after 100']],
  ["a store's cache", { mongodb: usage(900, 10) }, []],
])('leaks: %s', (_name, now, expected) => {
  expect(leaks({ gateway: usage(100, 10), mongodb: usage(100, 10) }, now)).toEqual(expected)
})
