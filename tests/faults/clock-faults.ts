import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { InjectedFault } from './fault.ts'
import type { FaultSystem, Target } from './fault-system.ts'
import { cutsCallers, pidOf, untilReplaced } from './process-faults.ts'

const JUMPED_MS = 8_000

/**
 * The clock of one process jumps by so many seconds while it runs, and back 8 s later: it is started again with
 * `library` (libfaketime) for its clock, and once more without it at the end. Intervals go on as they should.
 */
export function clockJump(options: { victim: Target; seconds: number; library: string }): InjectedFault {
  const { victim, seconds, library } = options
  return {
    name: `clock ${seconds > 0 ? '+' : '−'}${Math.abs(seconds)} s ${victim}`,
    cutsCallers: cutsCallers(victim),
    async strike({ system }) {
      const offset = join(system.directory, 'clock-offset')
      const jump = (by: number) => writeFileSync(offset, `${by < 0 ? '' : '+'}${by}s`)
      jump(0)
      await restartWith(system, victim, {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      })
      await system.ready()
      jump(seconds)
      await pause(JUMPED_MS)
      jump(0)
      return performance.now()
    },
    // Before that it has to recover by itself.
    async cleanUp({ system }) {
      await restartWith(system, victim, {})
      await system.ready()
    },
  }
}

/** What the supervisor starts meanwhile inherits the environment of this process. */
async function restartWith(system: FaultSystem, victim: string, env: Record<string, string>): Promise<void> {
  const pid = pidOf(system, victim)
  Object.assign(process.env, env)
  try {
    process.kill(pid, 'SIGTERM')
    await untilReplaced(system, victim, pid)
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
  }
}
