import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { type SimulatedNumber, sendsUrl } from '../simulator/client.ts'
import { readVariables } from './demo-plan.ts'

const POLL_MS = 100
const REQUEST_MS = 10_000
const PAGE = 10_000

const summary = z.looseObject({ last: z.int() })
const page = z.looseObject({
  data: z.array(z.looseObject({ at: z.iso.datetime(), variables: z.array(z.string()).default([]) })),
  next: z.int(),
})

/** A send that reached the simulator; `at` in milliseconds since the epoch. */
export interface Arrival {
  thread: number
  sequence: number
  at: number
}

/** The number of the last send that the simulator has: the place to watch from. */
export async function simulatorPosition(simulatorUrl: string): Promise<number> {
  return summary.parse(await getJson(new URL('/simulator/summary', simulatorUrl))).last
}

/** The arrivals so far, and the means to look again. */
interface ArrivalLog {
  /** In the order of arrival. */
  readonly received: readonly Arrival[]
  /** How many different messages are among them. */
  different(): number
  /** Reads what is new; returns whether there was anything. */
  read(): Promise<boolean>
}

/** The sends of a number that come after position `from`. */
export function createArrivalLog(number: SimulatedNumber, from: number): ArrivalLog {
  const received: Arrival[] = []
  const different = new Set<string>()
  let after = from
  return {
    received,
    different: () => different.size,
    async read() {
      const { data, next } = page.parse(await getJson(sendsUrl(number, { after, limit: PAGE })))
      after = next
      for (const { at, variables } of data) {
        const place = readVariables(variables)
        if (place === undefined) continue
        received.push({ ...place, at: Date.parse(at) })
        different.add(`${place.thread}:${place.sequence}`)
      }
      return data.length > 0
    },
  }
}

/**
 * Reads until `expected` different messages have arrived, until nothing new has come for `patienceMs` after
 * `posting` has ended, or until `posting` fails.
 */
export async function awaitReceived(options: {
  log: ArrivalLog
  expected: number
  patienceMs: number
  posting: Promise<unknown>
  onReceived(different: number): void
}): Promise<void> {
  const { log, expected, patienceMs, posting, onReceived } = options
  const posts = { running: true, failed: false }
  let lastProgress = performance.now()
  const end = ({ failed }: { failed: boolean }) => {
    Object.assign(posts, { running: false, failed })
    lastProgress = performance.now()
  }
  posting.then(
    () => end({ failed: false }),
    () => end({ failed: true }),
  )
  const isPatient = () => posts.running || performance.now() - lastProgress < patienceMs
  while (log.different() < expected && !posts.failed && isPatient()) {
    if (await log.read()) lastProgress = performance.now()
    onReceived(log.different())
    await pause(POLL_MS)
  }
}

async function getJson(url: URL): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(REQUEST_MS) })
  if (!response.ok) throw new Error(`The simulator responded with ${response.status}`)
  return response.json()
}
