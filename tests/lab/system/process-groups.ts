import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { findOwned } from '@parley/local/processes/owned'
import type { OwnSystem } from './own-system.ts'
import { cpuSeconds, descriptorsOf } from './processes.ts'

const SERVICES = ['gateway', 'webhook', 'dispatcher', 'configuration', 'identity', 'campaigns']
const ESTABLISHED = '01'
/** The program that runs the Windows build of MongoDB where there is no other. */
const WINE = 'Wine'

/** The processes of a service or a server, by its name. */
export type ProcessGroups = Record<string, ProcessGroup>

interface ProcessGroup {
  pids: number[]
  /** Of a service; a server is one, with all that it has started. */
  instances: number
}

export function groupProcesses({ system, runFile }: Pick<OwnSystem, 'system' | 'runFile'>): ProcessGroups {
  const ofService = (service: string): ProcessGroup => {
    const pids = Object.entries(system.processes).flatMap(([name, { pid }]) =>
      pid !== undefined && name.replace(/-\d+$/, '') === service ? [pid] : [],
    )
    return { pids, instances: pids.length }
  }
  const ofServer = (folder: string, belongs = (_command: string) => true): ProcessGroup => {
    const owned = findOwned(join(dirname(runFile), 'servers', folder))
    return { pids: owned.flatMap(({ pid, command }) => (belongs(command) ? [pid] : [])), instances: 1 }
  }
  const isTogether = new Set(SERVICES.map((name) => system.processes[name]?.pid)).size === 1
  const ofServices = isTogether
    ? { services: { pids: ofService('gateway').pids, instances: 1 } }
    : Object.fromEntries(SERVICES.map((service) => [service, ofService(service)]))
  const isMongod = (command: string) => command.includes('mongod')
  const groups: ProcessGroups = {
    ...ofServices,
    mongod: ofServer('mongodb', isMongod),
    [WINE]: ofServer('mongodb', (command) => !isMongod(command)),
    RabbitMQ: ofServer('rabbitmq'),
    Redis: ofServer('redis'),
  }
  return requireProcesses(groups)
}

/** Throws where a server is no process of this machine: its processor time can't be read. */
export function requireProcesses(groups: ProcessGroups): ProcessGroups {
  const missing = Object.keys(groups).filter((name) => name !== WINE && groups[name]?.pids.length === 0)
  if (missing.length > 0) throw new Error(`Not processes of this machine: ${missing.join(', ')}`)
  return groups
}

/** The processes that a process has started itself and that still run. */
export function childrenOf(pid: number): number[] {
  const ofThread = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return ofThread === '' ? [] : ofThread.split(' ').map(Number)
}

/**
 * Seconds of processor time that each group has used so far; those of a process that has ended are its parent's. Throws
 * {@link ServerEnded} where a group runs no more.
 */
export function secondsOf(groups: ProcessGroups): Figures {
  return mapValues(groups, (group, name) => sum(runningOf(group, name).map((pid) => cpuSeconds({ pid }))))
}

/** Memory of each group at the moment, in MiB; pages that processes share count once. Throws {@link ServerEnded}, too. */
export function memoryOf(groups: ProcessGroups): Figures {
  return mapValues(groups, (group, name) => sum(runningOf(group, name).map(proportionalKib)) / 1_024)
}

// A server may have started something for a moment, as RabbitMQ does to look at the disk.
function runningOf({ pids }: ProcessGroup, name: string): number[] {
  const running = pids.filter((pid) => existsSync(`/proc/${pid}`))
  if (running.length === 0 && pids.length > 0) throw new ServerEnded(name)
  return running
}

/** A server has ended by itself; it is started again, as another process, whose figures would be another's. */
class ServerEnded extends Error {
  constructor(name: string) {
    super(`${name} has ended by itself`)
  }
}

const ATTEMPTS = 3

/** Resolves with what a turn has measured, which is run again where a server ended in it; rejects the third time. */
export async function measuredWhole<T>(turn: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await turn()
    } catch (error) {
      if (!(error instanceof ServerEnded) || attempt === ATTEMPTS) throw error
      console.error(`${error.message}: this turn is run again`)
    }
  }
}

function proportionalKib(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
}

/** How many TCP connections over IPv4 the processes have to a port. */
export function connectionsTo(port: number, pids: readonly number[]): number {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  const inodes = new Set(
    rows.flatMap((row) => {
      const [, , remote = '', state, , , , , , inode] = row.trim().split(/\s+/)
      return remote.endsWith(`:${hex}`) && state === ESTABLISHED ? [`socket:[${inode}]`] : []
    }),
  )
  return pids.flatMap(descriptorsOf).filter((target) => inodes.has(target)).length
}

/** Figures by their name, such as the processor time of each process. */
export type Figures = Record<string, number>

export const sum = (figures: Figures | readonly number[]) =>
  Object.values(figures).reduce((all, figure) => all + figure, 0)

/** Returns the growth of each figure. */
export function since(before: Figures, after: Figures): Figures {
  return mapValues(after, (figure, name) => figure - (before[name] ?? 0))
}

export function mapValues<K extends string, V, W>(
  record: Record<K, V>,
  map: (value: V, key: K) => W,
): Record<K, W> {
  const entries = (Object.entries(record) as [K, V][]).map(([key, value]) => [key, map(value, key)])
  return Object.fromEntries(entries)
}
