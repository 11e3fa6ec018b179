import { Problem } from '@parley/shared/problem'

export interface SlotLimits {
  /** Requests at one service at the same time. */
  total: number
  /** Those of one caller. */
  perCaller: number
  waiting: number
  waitingPerCaller: number
  waitMs: number
}

/** The requests of one class of callers that are at one service. */
export interface UpstreamSlots {
  /**
   * Calls `go` when there is room, at once where there is, with what to call at the end. `refuse` hears `rate_limited`
   * when the caller's own requests take too long to make room, `unavailable` when those of all do.
   */
  take(key: string, asked: { go(release: () => void): void; refuse(problem: Problem): void }): void
}

interface Waiting {
  key: string
  go(): void
  timer: NodeJS.Timeout
}

export function createUpstreamSlots(limits: SlotLimits): UpstreamSlots {
  const used = new Map<string, number>()
  const waiting: Waiting[] = []
  let inFlight = 0
  const usedBy = (key: string) => used.get(key) ?? 0
  const hasRoom = (key: string) => inFlight < limits.total && usedBy(key) < limits.perCaller
  const occupy = (key: string) => {
    inFlight++
    used.set(key, usedBy(key) + 1)
  }
  const release = (key: string) => {
    inFlight--
    if (usedBy(key) === 1) used.delete(key)
    else used.set(key, usedBy(key) - 1)
    const at = waiting.findIndex((one) => hasRoom(one.key))
    const [next] = at === -1 ? [] : waiting.splice(at, 1)
    if (next === undefined) return
    clearTimeout(next.timer)
    next.go()
  }
  const excessOf = (key: string) =>
    usedBy(key) >= limits.perCaller
      ? new Problem('rate_limited', { detail: 'Too many requests of yours are under way.' })
      : new Problem('unavailable', { detail: 'Too many requests are under way.' })
  return {
    take(key, { go, refuse }) {
      const start = () => {
        occupy(key)
        go(() => release(key))
      }
      if (hasRoom(key)) return start()
      const own = waiting.filter((one) => one.key === key).length
      if (own >= limits.waitingPerCaller || waiting.length >= limits.waiting) return refuse(excessOf(key))
      const expire = () => {
        waiting.splice(waiting.indexOf(one), 1)
        refuse(excessOf(key))
      }
      const one: Waiting = { key, go: start, timer: setTimeout(expire, limits.waitMs) }
      waiting.push(one)
    },
  }
}
