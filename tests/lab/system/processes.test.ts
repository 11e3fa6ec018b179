import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { measuredWhole, memoryOf, secondsOf } from './process-groups.ts'
import { readHoldings, startProcesses } from './processes.ts'

test('the memory and the sockets of a process are counted', async () => {
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

test('a process that is gone is left out', () => {
  expect(readHoldings({ gone: 2 ** 22 + 1 })).toEqual({})
})

test('a turn in which a server has ended is measured again, not with a figure that lacks it', async () => {
  const processes = startProcesses()
  let turns = 0
  try {
    const measured = await measuredWhole(async () => {
      turns += 1
      const own = processes.run('sleep', ['600'], {})
      const groups = { mongod: { pids: [own.pid], instances: 1 } }
      if (turns === 1) await own.stop()
      return { seconds: secondsOf(groups), memory: memoryOf(groups) }
    })
    expect(turns).toBe(2)
    expect(measured.memory.mongod).toBeGreaterThan(0)
    expect(measured.seconds.mongod).toBeGreaterThanOrEqual(0)
  } finally {
    await processes.stop()
  }
})
