import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { runCommand } from '@parley/local/processes/run-command'
import { findBinary } from '@parley/local/servers/find-binary'
import type { InjectedFault } from './fault.ts'
import type { FaultSystem } from './fault-system.ts'

// Longer than the 5 s after which the webhook answers 503.
const ALARM_MS = 8_000
const COMMAND_MS = 30_000
const FOLDERS = ['/usr/lib/rabbitmq/bin', '/opt/homebrew/sbin', '/usr/local/sbin']

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
  const home = join(directory, 'servers/rabbitmq')
  await runCommand({
    command: findBinary('rabbitmqctl', FOLDERS) ?? 'rabbitmqctl',
    args: ['-n', 'parley@localhost', ...args],
    owner: join(directory, 'control'),
    cwd: home,
    env: { HOME: home, ERL_EPMD_PORT: String(ports['amqp-epmd']), ERL_EPMD_ADDRESS: '127.0.0.1' },
    timeoutMs: COMMAND_MS,
  })
}
