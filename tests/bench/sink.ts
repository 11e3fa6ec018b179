import { setTimeout as pause } from 'node:timers/promises'
import { listen } from '@parley/local/testing/service-under-test'

/** An endpoint that takes every call at once, and remembers when which one came. */
export async function startSink() {
  let received: Array<{ id: string; at: number }> = []
  let ids = new Map<string, number>()
  const { url, close } = await listen((req, res) => {
    req.resume().on('end', () => {
      const id = String(req.headers['webhook-id'])
      received.push({ id, at: performance.now() })
      ids.set(id, (ids.get(id) ?? 0) + 1)
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end('{}')
    })
  })
  return {
    url,
    close,
    /** Each call and when it came (milliseconds), in the order of arrival. */
    received: () => received,
    /** When each call came. */
    times: () => received.map(({ at }) => at),
    /** How many ids came more than once. */
    doubled: () => [...ids.values()].filter((count) => count > 1).length,
    /** How many different ids came. */
    count: () => ids.size,
    /** How many of those that came have an id that begins so. */
    countOf: (prefix: string) => [...ids.keys()].filter((id) => id.startsWith(prefix)).length,
    forget() {
      received = []
      ids = new Map()
    },
    /** Waits until `count` different ids came; throws when none came for a minute. */
    async until(count: number, tick: () => void = () => {}): Promise<void> {
      let last = performance.now()
      let seen = ids.size
      while (ids.size < count) {
        if (ids.size > seen) last = performance.now()
        seen = ids.size
        if (performance.now() - last > 60_000) throw new Error(`nothing came for a minute after ${seen}`)
        tick()
        await pause(50)
      }
    },
  }
}

/** Calls a second between two shares of all that came, for example from 0.1 to 0.9. */
export function rateBetween(times: number[], from: number, to: number): number {
  const first = Math.floor(times.length * from)
  const last = Math.min(times.length - 1, Math.floor(times.length * to))
  const took = (times[last] ?? 0) - (times[first] ?? 0)
  return ((last - first) * 1_000) / took
}
