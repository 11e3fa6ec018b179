import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startFurtherDispatcher } from '@parley/local/demo/further-dispatcher'
import { findRunningSystem, isTogether, killProcess, readRunFile } from '@parley/local/demo/running-system'
import { sharedServers } from '@parley/local/testing/test-servers'
import { type OwnSystem, startOwnSystem } from '../../../tests/lab/system/own-system.ts'

const SERVICES = ['gateway', 'identity', 'webhook', 'configuration', 'dispatcher', 'campaigns']

describe('one process that hosts all services', () => {
  let own: OwnSystem
  let servers: Awaited<ReturnType<typeof sharedServers>>
  beforeAll(async () => {
    servers = await sharedServers()
    own = await startOwnSystem({ instances: {}, together: true, servers, say: () => undefined })
  })
  afterAll(() => own?.stop())

  const pids = () => SERVICES.map((name) => readRunFile(own.runFile)?.processes[name]?.pid)

  test('is the process of each of them, which have ports of their own', async () => {
    const { processes } = await findRunningSystem(own.runFile)
    expect(new Set(pids()).size).toBe(1)
    expect(new Set(SERVICES.map((name) => processes[name]?.url)).size).toBe(SERVICES.length)
    expect(isTogether({ processes })).toBe(true)
  })

  test('is started again when one of them is killed, and so all are', async () => {
    const [before] = pids()
    const { pid } = await killProcess({ victim: 'webhook', runFile: own.runFile })
    expect(pid).toBe(before)
    expect(new Set(pids()).size).toBe(1)
    expect(pids()[0]).not.toBe(before)
  })

  test('gets a dispatcher beside it, which can be killed alone', async () => {
    const system = await findRunningSystem(own.runFile)
    const { databaseOf } = servers
    const further = await startFurtherDispatcher({ system, directory: dirname(own.runFile), databaseOf })
    const before = pids()
    const { pid, readyAfterMs } = await further.kill()
    expect(before).not.toContain(pid)
    expect(readyAfterMs).toBeGreaterThan(0)
    expect(pids()).toEqual(before)
    await further.stop()
  })
})
