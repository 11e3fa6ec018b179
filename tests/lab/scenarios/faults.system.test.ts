import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createSimulatorLog, startRpcSink } from '../load/received-messages.ts'
import { cut, kill } from '../strike/faults.ts'
import { startFaultSystem } from '../system/proxied-system.ts'
import { runRound, type World } from './round.ts'

const START_MS = 180_000
const ROUND_MS = 240_000

// `npm run test:faults` does the others.
describe.each([
  { layout: 'a process for each service', faults: [kill('webhook'), cut('mongodb')], together: false },
  { layout: 'one process for all services', faults: [kill('services')], together: true },
])('with $layout', ({ faults, together }) => {
  let world: World
  beforeAll(async () => {
    const system = await startFaultSystem({ say: () => undefined, together })
    const log = createSimulatorLog(system.simulatorUrl)
    world = { system, sink: await startRpcSink(), log, rate: 30, readRate: 5 }
  }, START_MS)
  afterAll(async () => {
    await world.system.stop()
    await world.sink.close()
  }, START_MS)

  test.each(faults.map((fault, round) => ({ fault, round })))(
    '$fault.name under load: nothing is lost, doubled, out of order or stuck',
    async ({ fault, round }) => {
      const { violations, reconciliation, count } = await runRound({ world, fault, round, before: undefined })
      expect(violations).toEqual([])
      expect(reconciliation.once).toBeGreaterThan(0)
      expect(count).toMatchObject({ accepted: reconciliation.posted, difference: 0, inFlight: 0 })
    },
    ROUND_MS,
  )
})
