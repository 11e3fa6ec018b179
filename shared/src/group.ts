import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { integer } from './config.ts'
import { Problem } from './problem.ts'

// A statement may have 16 MB; a character takes up to three bytes.
const MAX_CHARACTERS = 4 * 1024 * 1024
const MAX_ITEMS = 200
const MAX_QUEUED = 10_000
const DEFAULT_LINGER_MS = 6
/** Of so many of the last items the mean pause between two says whether more are about to come. */
const REMEMBERED = 16
/** A longer pause counts as one of these milliseconds, so that a rest is forgotten soon. */
const LONGEST_PAUSE_MS = 50

/** The key of how long a batch waits for more. */
export const lingerConfig = {
  LINGER_MS: integer({ min: 0, max: 10 })
    .default(DEFAULT_LINGER_MS)
    .describe(
      'How long a batch of database statements waits for more, where more are about to come, in milliseconds: it buys ' +
        'processor time with latency ([curve](performance.md#waiting-for-more))',
    ),
}

let lingerMs = DEFAULT_LINGER_MS

/** Sets how long the batches of this process wait for more, in milliseconds: its `LINGER_MS`. */
export function setLinger(milliseconds: number): void {
  lingerMs = milliseconds
}

interface QueuedItem<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Group commit: what is given while an earlier batch is worked is worked as one batch of up to `maxItems` (200) or 4 Mi
 * characters (but always one), since with single statements the message path would do only a few hundred a second. Where
 * none is worked, a batch waits `LINGER_MS` for more, unless it is full before or, at the pace of the last items, nothing
 * is about to come: then it takes what is given in the same turn of the event loop. What is in no hurry says how long it
 * waits, before each batch or before the first. At most `atOnce` batches are worked concurrently; with one, in sequence.
 * When a batch rejects, all of its items do; so does one beyond 10,000 that wait.
 */
export function group<Item, Result>(options: {
  work(batch: Item[]): Promise<Result[]>
  charactersOf?(item: Item): number
  maxItems?: number
  inNoHurry?: { milliseconds: number; before: 'each' | 'first' }
  atOnce: number
}): (item: Item) => Promise<Result> {
  const { work, charactersOf = () => 0, maxItems = MAX_ITEMS, inNoHurry, atOnce } = options
  let queue: Array<QueuedItem<Item, Result>> = []
  let working = 0
  let isFull: (() => void) | undefined
  const linger = createLinger()
  const gather = async () => {
    const milliseconds = linger.milliseconds()
    if (inNoHurry !== undefined) await pause(inNoHurry.milliseconds)
    else if (queue.length >= maxItems || milliseconds === 0) await nextTurn()
    else await untilFull(milliseconds)
  }
  const untilFull = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      isFull = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  const workAll = async () => {
    working++
    await gather()
    while (queue.length > 0) {
      const size = batchSize(queue, { charactersOf, maxItems })
      const batch = queue.slice(0, size)
      queue = queue.slice(size)
      await workOne(batch)
      if (inNoHurry?.before === 'each' && queue.length > 0) await pause(inNoHurry.milliseconds)
    }
    working--
  }
  const workOne = async (batch: Array<QueuedItem<Item, Result>>) => {
    try {
      const results = await work(batch.map(({ item }) => item))
      for (let at = 0; at < batch.length; at++) batch[at]?.resolve(results[at] as Result)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  return (item) => {
    if (queue.length >= MAX_QUEUED)
      return Promise.reject(new Problem('unavailable', { detail: 'Too much is waiting to be written.' }))
    return new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      linger.note()
      if (queue.length >= maxItems) isFull?.()
      // A further one gathers while the others work.
      if (working < atOnce && (working === 0 || queue.length === 1)) void workAll()
    })
  }
}

function batchSize<Item>(
  queue: Array<Pick<QueuedItem<Item, unknown>, 'item'>>,
  { charactersOf, maxItems }: { charactersOf(item: Item): number; maxItems: number },
): number {
  let characters = 0
  const end = queue.findIndex(({ item }, index) => {
    characters += charactersOf(item)
    return index > 0 && (index === maxItems || characters > MAX_CHARACTERS)
  })
  return end < 0 ? queue.length : end
}

/** How fast items are given, and from that how long a batch of them waits. */
interface Linger {
  /** Says that an item is given. */
  note(): void
  /** How long a batch waits for more, in milliseconds: 0 where, at the pace of the last items, none is about to come. */
  milliseconds(): number
}

function createLinger(): Linger {
  let notedAt = Number.NEGATIVE_INFINITY
  let meanPauseMs = LONGEST_PAUSE_MS
  return {
    note: () => {
      const now = performance.now()
      meanPauseMs += (Math.min(now - notedAt, LONGEST_PAUSE_MS) - meanPauseMs) / REMEMBERED
      notedAt = now
    },
    milliseconds: () => (meanPauseMs > lingerMs ? 0 : lingerMs),
  }
}
