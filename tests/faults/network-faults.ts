import { setTimeout as pause } from 'node:timers/promises'
import type { InjectedFault } from './fault.ts'
import type { Target } from './fault-system.ts'
import { cutsCallers } from './process-faults.ts'

const CUT_MS = 3_000
const SLOW_MS = 6_000
const DELAY_MS = 150

/** Every connection to it breaks, and none comes about for 3 s. */
export function cut(target: Target): InjectedFault {
  return {
    name: `cut ${target}`,
    cutsCallers: cutsCallers(target),
    async strike({ system }) {
      const network = system.networkOf(target)
      network.cut()
      await pause(CUT_MS)
      network.mend()
      return performance.now()
    },
  }
}

/** What goes to it and comes from it takes 150 ms each way, for 6 s. */
export function slow(target: Target): InjectedFault {
  return {
    name: `slow ${target}`,
    async strike({ system }) {
      const network = system.networkOf(target)
      network.slow(DELAY_MS)
      await pause(SLOW_MS)
      network.mend()
      return performance.now()
    },
  }
}
