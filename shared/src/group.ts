import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { Problem } from './problem.ts'

// A statement may have 16 MB; a character takes up to three bytes.
const MAX_CHARACTERS = 4 * 1024 * 1024
const MAX_ITEMS = 200
const MAX_QUEUED = 10_000

interface QueuedItem<Item, Result> {
  item: Item
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * Group commit: what is given within `gatherMs` milliseconds, and while an earlier batch is worked, is worked as one
 * batch of up to `maxItems` (200) or 4 Mi characters (but always one), since with single statements the message path would
 * do only a few hundred a second. At rest, which is when none was worked for `gatherMs`, only what is given in the same
 * turn of the event loop is gathered, unless it `gathers` at rest, too; or before each batch, which makes larger ones of
 * what is in no hurry. At most `atOnce` batches are worked concurrently; with one, in sequence. When a batch rejects, all of its items do; so does one beyond 10,000 that wait.
 */
export function group<Item, Result>(options: {
  work(batch: Item[]): Promise<Result[]>
  charactersOf?(item: Item): number
  maxItems?: number
  gatherMs: number
  gathers?: 'atRest' | 'each'
  atOnce: number
}): (item: Item) => Promise<Result> {
  const { work, charactersOf = () => 0, maxItems = MAX_ITEMS, gatherMs, gathers, atOnce } = options
  let queue: Array<QueuedItem<Item, Result>> = []
  let working = 0
  let workedAt = Number.NEGATIVE_INFINITY
  const gather = async () => {
    const isAtRest = working === 1 && performance.now() - workedAt > gatherMs
    if (isAtRest && gathers === undefined) await nextTurn()
    else await pause(gatherMs)
  }
  const workAll = async () => {
    working++
    await gather()
    while (queue.length > 0) {
      const size = batchSize(queue, { charactersOf, maxItems })
      const batch = queue.slice(0, size)
      queue = queue.slice(size)
      await workOne(batch)
      if (gathers === 'each' && queue.length > 0) await pause(gatherMs)
    }
    working--
    workedAt = performance.now()
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
