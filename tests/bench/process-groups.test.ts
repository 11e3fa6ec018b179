import { expect, test } from '@jest/globals'
import { measuredWhole, memoryOf, secondsOf } from './process-groups.ts'
import { startProcesses } from './processes.ts'

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
