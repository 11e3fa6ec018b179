import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { memoryBound, sizesOf } from '@parley/shared/memory'

/** The setting that the processes run with: where there is least memory, what takes more than it may is seen first. */
export const MEMORY = 'small'
/** The most memory that a process reports at its start as its bound. */
const MAX_MIB = memoryBound(MEMORY, sizesOf(MEMORY).heapMib).atMostMib
/** How long its event loop may be late at a time, beyond what the machine makes of this one. */
const MAX_DELAY_MS = 500
const LOOK_MS = 1_000
const RESPONSE_MS = 30_000

/** The most resources that a process took while it was watched. */
export interface ProcessUse {
  name: string
  mib: number
  delayMs: number
}

export const isInsideLimits = ({ mib, delayMs }: ProcessUse): boolean =>
  mib <= MAX_MIB && delayMs <= MAX_DELAY_MS

/**
 * Looks at the metrics of processes each second: the resident memory, and the longest delay of the event loop since the
 * last look. A process that does not say is left out of a look.
 */
export async function watchProcesses(
  metricsUrls: Readonly<Record<string, string>>,
): Promise<{ stop(): Promise<ProcessUse[]> }> {
  const watched = Object.entries(metricsUrls).map(([name, url]) => ({
    url,
    use: { name, mib: 0, delayMs: 0 },
  }))
  const own = monitorEventLoopDelay({ resolution: 10 })
  own.enable()
  const look = async ({ isFirst = false } = {}) => {
    const found = await Promise.all(watched.map(async ({ url, use }) => ({ use, seen: await read(url) })))
    const ownMs = own.max / 1e6
    own.reset()
    for (const { use, seen } of found) {
      if (seen === undefined) continue
      use.mib = Math.max(use.mib, seen.mib)
      // The first look has what was before.
      if (!isFirst) use.delayMs = Math.max(use.delayMs, seen.delayMs - ownMs)
    }
  }
  await look({ isFirst: true })
  const stopping = new AbortController()
  const looking = (async () => {
    while (!stopping.signal.aborted) {
      await pause(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
      await look()
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await looking
      own.disable()
      return watched.map(({ use }) => use)
    },
  }
}

async function read(url: string): Promise<{ mib: number; delayMs: number } | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(RESPONSE_MS) })
    const text = await response.text()
    const figureOf = (name: string) =>
      Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
    const bytes = figureOf('process_resident_memory_bytes')
    const seconds = figureOf('nodejs_eventloop_lag_max_seconds')
    if (Number.isNaN(bytes)) return undefined
    return { mib: bytes / 1024 / 1024, delayMs: Number.isNaN(seconds) ? 0 : seconds * 1_000 }
  } catch {
    return undefined
  }
}
