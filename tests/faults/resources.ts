import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** What a process holds at the moment. */
export interface Holding {
  mebibytes: number
  sockets: number
}

/** What each process holds, by name; without those that are gone. */
export function readHoldings(pids: Record<string, number>): Record<string, Holding> {
  return Object.fromEntries(
    Object.entries(pids).flatMap(([name, pid]) => {
      try {
        return [[name, { mebibytes: residentMebibytes(pid), sockets: countSockets(pid) }]]
      } catch {
        return []
      }
    }),
  )
}

function residentMebibytes(pid: number): number {
  const [, kibibytes = '0'] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1_024
}

function countSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((descriptor) => isSocket(`${folder}/${descriptor}`)).length
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:')
  } catch {
    // Closed meanwhile.
    return false
  }
}

/** The most that any process has grown by since `before`. */
export function growth(before: Record<string, Holding>, now: Record<string, Holding>): Holding {
  const grown = Object.entries(now).flatMap(([name, { mebibytes, sockets }]) => {
    const was = before[name]
    return was === undefined ? [] : [{ mebibytes: mebibytes - was.mebibytes, sockets: sockets - was.sockets }]
  })
  return {
    mebibytes: Math.max(0, ...grown.map(({ mebibytes }) => mebibytes)),
    sockets: Math.max(0, ...grown.map(({ sockets }) => sockets)),
  }
}

const SOCKETS_MORE = 24
const MEBIBYTES_MORE = 150
// A store's cache and a broker's log fill up to their own bounds.
const CACHES = new Set(['mongodb', 'rabbitmq'])

/** The processes that hold clearly more than before, once they are at rest. */
export function leaks(before: Record<string, Holding>, now: Record<string, Holding>): string[] {
  return Object.entries(now).flatMap(([name, { mebibytes, sockets }]) => {
    const was = before[name]
    if (was === undefined) return []
    const more = (unit: string, from: number, to: number) =>
      `${name} holds ${Math.round(to)} ${unit} after ${Math.round(from)}`
    return [
      ...(sockets > was.sockets + SOCKETS_MORE ? [more('sockets', was.sockets, sockets)] : []),
      ...(!CACHES.has(name) && mebibytes > was.mebibytes + MEBIBYTES_MORE
        ? [more('MiB', was.mebibytes, mebibytes)]
        : []),
    ]
  })
}
