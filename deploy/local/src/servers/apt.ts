import { runCommand } from '../processes/run-command.ts'
import { SetupError } from '../setup-error.ts'
import { findBinary } from './find-binary.ts'
import type { ServerContext } from './server.ts'

const UPDATE_MS = 120_000
const INSTALL_MS = 900_000

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
  const run = (args: string[], timeoutMs: number) =>
    runCommand({
      command: apt,
      args: ['-o', 'DPkg::Lock::Timeout=120', ...args],
      owner: context.directory,
      env: { DEBIAN_FRONTEND: 'noninteractive' },
      timeoutMs,
      signal: context.signal,
    })
  try {
    await run(['update'], UPDATE_MS)
    await run(['install', '-y', '--no-install-recommends', ...packages], INSTALL_MS)
  } catch (error) {
    context.signal.throwIfAborted()
    const reason = error instanceof Error ? error.message : String(error)
    throw new SetupError(`apt-get could not install ${packages.join(', ')}: ${reason}. ${alternatives}`)
  }
}
