import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { portProblem } from './servers/choose-ports.ts'
import { type Servers, startServers } from './servers/start-servers.ts'
import { SetupError } from './setup-error.ts'
import { loadSecrets } from './system/secrets.ts'
import { type System, startSystem } from './system/start-system.ts'
import { describeSystem } from './system-table.ts'

const DEFAULT_PORT = 8080
const MAX_PORT = 65_535
/** Two dispatchers, so that one can be killed while the other goes on. */
const INSTANCES = { dispatcher: 2 }

/** Starts servers and services, says where they are, and stops them when `signal` aborts. */
export async function runLocal(options: {
  directory: string
  say(line: string): void
  signal: AbortSignal
}): Promise<void> {
  const { directory, say, signal } = options
  const port = await choosePort()
  requireSecretsOfData(directory)
  // Before there is any data, which could not be read without them.
  loadSecrets(join(directory, 'secrets.json'))
  let servers: Servers | undefined
  let system: System | undefined
  try {
    say('Starting MongoDB, RabbitMQ and Redis …')
    servers = await startServers({ directory: join(directory, 'servers'), say, signal })
    say('Starting the services …')
    const logLevel = process.env.LOG_LEVEL ?? 'warn'
    system = await startSystem({ directory, port, servers, say, logLevel, instances: INSTANCES, signal })
    say(describeSystem(system, servers))
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await system?.stop()
    await servers?.stop()
  }
}

async function choosePort(): Promise<number> {
  const port = Number(process.env.PORT || DEFAULT_PORT)
  if (!Number.isInteger(port) || port < 1 || port > MAX_PORT) {
    throw new SetupError(`PORT must be a whole number from 1 to ${MAX_PORT}, not ${process.env.PORT}.`)
  }
  const problem = await portProblem(port)
  if (problem === undefined) return port
  if (problem === 'EADDRINUSE') {
    throw new SetupError(
      `Port ${port} is taken by another program. Stop that, or choose another port: PORT=8081 npm start`,
    )
  }
  throw new SetupError(`Port ${port} can't be used (${problem}). Choose another one: PORT=8081 npm start`)
}

/** New secrets beside old data would lock everybody out of it. */
function requireSecretsOfData(directory: string): void {
  const secrets = join(directory, 'secrets.json')
  if (existsSync(join(directory, 'servers')) && !existsSync(secrets)) {
    throw new SetupError(
      `${secrets} is missing, but there is data that can't be read without it. Restore the file from a backup, ` +
        `or move ${directory} away to begin with an empty one.`,
    )
  }
}
