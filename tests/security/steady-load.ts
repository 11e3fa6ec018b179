const TICK_MS = 5
const MAX_IN_FLIGHT = 1_000

/** What came of the requests of a load. */
export interface SteadyLoadResult {
  sent: number
  /** How often each status came, other than 200; `failed` without an answer, `unsent` with 1,000 in flight. */
  refused: Map<string, number>
  /** Of each answer, in milliseconds, from when the request was due. */
  latencies: number[]
  seconds: number
}

interface SteadyLoad {
  /** Settles once every answer is in. */
  stop(): Promise<SteadyLoadResult>
}

/** Sends `rate` requests a second, however long the answers take. */
export function startSteadyLoad({ rate, send }: { rate: number; send(): Promise<number> }): SteadyLoad {
  const started = performance.now()
  const result: SteadyLoadResult = { sent: 0, refused: new Map(), latencies: [], seconds: 0 }
  const inFlight = new Set<Promise<void>>()
  const refuse = (reason: string) => result.refused.set(reason, (result.refused.get(reason) ?? 0) + 1)
  const one = async (dueAt: number) => {
    try {
      const status = await send()
      result.latencies.push(performance.now() - dueAt)
      if (status !== 200) refuse(String(status))
    } catch {
      refuse('failed')
    }
  }
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - started) * rate) / 1_000)
    while (result.sent < due) {
      const dueAt = started + (++result.sent * 1_000) / rate
      if (inFlight.size >= MAX_IN_FLIGHT) {
        refuse('unsent')
        continue
      }
      const sending = one(dueAt).finally(() => inFlight.delete(sending))
      inFlight.add(sending)
    }
  }, TICK_MS)
  return {
    async stop() {
      clearInterval(timer)
      result.seconds = (performance.now() - started) / 1_000
      await Promise.all(inFlight)
      return result
    },
  }
}
