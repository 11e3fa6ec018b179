import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { controlBroker } from '../system/broker-cluster.ts'
import type { FaultSystem, Target } from '../system/proxied-system.ts'
import { cutsCallers, type InjectedFault, pidOf, untilReplaced } from './faults.ts'

const JUMPED_MS = 8_000
// Longer than the 5 s after which the webhook answers 503.
const ALARM_MS = 8_000

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

/** Restarts a process; the supervisor's children inherit the environment of this process meanwhile. */
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

/** RabbitMQ finds that it is short of memory or disk, and takes nothing from publishers for 8 s. */
export function alarm(kind: 'memory' | 'disk'): InjectedFault {
  const [raise, lift] =
    kind === 'memory'
      ? [
          ['set_vm_memory_high_watermark', 'absolute', '1MB'],
          ['set_vm_memory_high_watermark', 'absolute', '1GB'],
        ]
      : [
          ['set_disk_free_limit', '1000000GB'],
          ['set_disk_free_limit', '50MB'],
        ]
  return {
    name: `${kind} alarm rabbitmq`,
    async strike({ system }) {
      try {
        await rabbitmqctl(system, raise)
        await pause(ALARM_MS)
      } finally {
        await rabbitmqctl(system, lift)
      }
      return performance.now()
    },
  }
}

async function rabbitmqctl({ directory }: FaultSystem, args: string[]): Promise<void> {
  const ports = JSON.parse(readFileSync(join(directory, 'servers/ports.json'), 'utf8'))
  await controlBroker({
    ...{ command: 'rabbitmqctl', args: ['-n', 'parley@localhost', ...args], directory },
    ...{ home: join(directory, 'servers/rabbitmq'), epmdPort: Number(ports['amqp-epmd']) },
  })
}
