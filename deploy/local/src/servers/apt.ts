import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../processes/run-command.ts'
import { SetupError } from '../setup-error.ts'
import { findBinary } from './find-binary.ts'
import type { ServerContext } from './server.ts'

const INSTALL_MS = 900_000
/** Several workers of the tests may lack the same package; apt-get itself waits for one of its two locks only. */
const LOCK = join(tmpdir(), 'parley-apt.lock')

/** Installs packages of the machine, all in one go. Throws {@link SetupError} that names them when it can't. */
export async function installPackages(packages: string[], context: ServerContext): Promise<void> {
  if (packages.length === 0) return
  const apt = findBinary('apt-get')
  const install = `apt-get install -y --no-install-recommends ${packages.join(' ')}`
  const alternatives =
    'Other ways: start a Docker engine, or name running servers with MONGO_URL, AMQP_URL and REDIS_URL.'
  if (apt === undefined || process.getuid?.() !== 0) {
    throw new SetupError(
      `Missing on this machine: ${packages.join(', ')}. Install them (as root on Debian and Ubuntu: ` +
        `apt-get update && ${install}), then run the same command again. ${alternatives}`,
    )
  }
  context.say(`Installing ${packages.join(', ')} (apt-get) …`)
  const run = (args: string[]) =>
    runCommand({
      command: 'flock',
      args: ['--no-fork', LOCK, apt, '-o', 'DPkg::Lock::Timeout=120', ...args],
      owner: context.directory,
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs: INSTALL_MS,
      signal: context.signal,
    })
  try {
    await run(['update'])
    await run(['install', '-y', '--no-install-recommends', ...packages])
  } catch (error) {
    context.signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    throw new SetupError(`apt-get could not install ${packages.join(', ')}: ${reason}. ${alternatives}`)
  }
}
