import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildConsole } from '@parley/console/build'
import { ConfigError, parseConfig } from '@parley/shared/config'
import { type Memory, memoryConfig } from '@parley/shared/memory'
import { z } from 'zod'
import { makeApiDocument } from './api-document.ts'
import { portProblem } from './servers/choose-ports.ts'
import { type Servers, startServers } from './servers/start-servers.ts'
import { SetupError } from './setup-error.ts'
import { loadSecrets } from './system/secrets.ts'
import { loadProcesses, type System, startSystem } from './system/start-system.ts'
import { readableLine } from './terminal/log-line.ts'
import { readyText } from './terminal/ready-text.ts'
import type { StatusLine } from './terminal/status-line.ts'

const DEFAULT_PORT = 8080
const MAX_PORT = 65_535
/** With a process for each, so that one can be killed while the other goes on. */
const INSTANCES = { dispatcher: 2 }

/** Starts servers and services, says where they are, and stops them when `signal` aborts. */
export async function runLocal(options: {
  directory: string
  terminal: StatusLine
  whenReady?: (() => Promise<void>) | undefined
  /** One process hosts all services; each has its own, and there are two dispatchers, when not given. */
  together?: boolean | undefined
  /** Whatever changes in the code is running a moment later. */
  watch?: boolean | undefined
  /** A process that somebody else starts. */
  without?: string | undefined
  signal: AbortSignal
}): Promise<void> {
  const { directory, terminal, whenReady, together = false, watch = false, without, signal } = options
  const say = (line: string) => terminal.say(readableLine(line))
  const port = await choosePort()
  const memory = chooseMemory(together)
  requireSecretsOfData(directory)
  // Before there is any data, which could not be read without them.
  loadSecrets(join(directory, 'secrets.json'))
  const loaded = watch ? {} : loadProcesses({ directory, together, memory })
  const instances = together ? {} : INSTANCES
  let servers: Servers | undefined
  let system: System | undefined
  try {
    terminal.status('Starting MongoDB, RabbitMQ and Redis')
    const making = Promise.allSettled([makeApiDocument({ owner: directory, signal }), buildConsole()])
    servers = await startServers({ directory: join(directory, 'servers'), memory, say, signal })
    for (const made of await making) if (made.status === 'rejected') throw made.reason
    terminal.status('Starting the services')
    const logLevel = process.env.LOG_LEVEL ?? 'warn'
    const settings = {
      directory,
      port,
      servers,
      say,
      logLevel,
      memory,
      together,
      instances,
      watch,
      without,
      signal,
    }
    system = await startSystem({ ...settings, loaded })
    terminal.end()
    terminal.say(readyText(system, servers, { memory, together }))
    await whenReady?.()
    if (!signal.aborted) await once(signal, 'abort')
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await system?.stop()
    for (const child of Object.values(loaded)) child?.kill('SIGKILL')
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

/** A machine on which one process hosts all services is a small one, unless `MEMORY` says otherwise. */
function chooseMemory(together: boolean): Memory {
  const own = { MEMORY: together ? 'small' : 'default', ...process.env }
  try {
    return parseConfig(z.object(memoryConfig), own).MEMORY
  } catch (error) {
    if (error instanceof ConfigError) throw new SetupError(error.message)
    throw error
  }
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

const lockSchema = z.object({ pid: z.number().int().positive(), started: z.string() })

/**
 * Makes this process the only user of `directory` until the returned function is called. Throws
 * {@link SetupError} while another one is; a lock whose process is gone is taken over.
 */
export function lockDirectory(directory: string): () => void {
  const file = join(directory, 'lock.json')
  const owner = readOwner(file)
  if (owner) {
    throw new SetupError(
      `Parley already runs in this checkout (process ${owner}). Use it, or stop it first (Ctrl-C there, or ` +
        `kill ${owner}).`,
    )
  }
  rmSync(file, { force: true })
  const lock = { pid: process.pid, started: startTime(process.pid) }
  writeFileSync(file, JSON.stringify(lock), { flag: 'wx' })
  return () => rmSync(file, { force: true })
}

/** The process id of the live process that owns the lock. */
function readOwner(file: string): number | undefined {
  try {
    const { pid, started } = lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    return startTime(pid) === started ? pid : undefined
  } catch {
    return undefined
  }
}

/** Distinguishes a process from a later one with the same id. Throws when there is no such process. */
function startTime(pid: number): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)])
      .toString()
      .trim()
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
  return fields?.[19] ?? ''
}
