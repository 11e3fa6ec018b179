import { Problem } from '@parley/shared/problem'
import { Piscina } from 'piscina'

const MAX_HEAP_MB = 128
const MAX_MS = 10_000
const MAX_WAITING = 64
const IDLE_MS = 60_000

/** Reads of specs where their first server is. */
export interface SpecOrigins {
  /**
   * The origin; undefined where the spec names none, or takes more than 10 s or 128 MB to read. Rejects with `unavailable`
   * while 64 others wait.
   */
  originOf(spec: string): Promise<string | undefined>
  close(): Promise<void>
}

/** Specs are somebody else's, so they are read in a thread that can be ended. */
export function createSpecOrigins(): SpecOrigins {
  const pool = new Piscina<string, string | undefined>({
    filename: new URL('./spec-origin-worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: MAX_WAITING,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  // What is wrong with a thread shows in its task.
  pool.on('error', () => {})
  return {
    async originOf(spec) {
      if (pool.queueSize >= MAX_WAITING)
        throw new Problem('unavailable', { detail: 'Too many specs wait to be read.' })
      return pool.run(spec, { signal: AbortSignal.timeout(MAX_MS) }).catch(() => undefined)
    },
    close: () => pool.destroy(),
  }
}
