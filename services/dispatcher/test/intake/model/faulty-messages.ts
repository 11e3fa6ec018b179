import { mongo } from 'mongoose'
import type { Collections } from '../../../src/store/collections.ts'

/** `before`: nothing is written or read; `after`: it is, and the answer is lost. */
export type StoreFailure = 'before' | 'after'

/** The connection between one instance and MongoDB. */
export interface StoreLine {
  /** The next statements fail like this, one each. */
  failures: StoreFailure[]
  /** Each statement takes this much longer on its way, and its answer as well, in milliseconds. */
  slowMs: number
  /** The process is dead: nothing goes out, and no answer comes back. */
  isDead: boolean
  inFlight: number
}

export const newStoreLine = (): StoreLine => ({ failures: [], slowMs: 0, isDead: false, inFlight: 0 })

/** Messages in the real MongoDB, over a line that a test disturbs. `inserted` is called with what MongoDB has, at once. */
export function faultyMessages(
  messages: Collections['messages'],
  line: StoreLine,
  inserted: (ids: string[]) => void,
): Collections['messages'] {
  const over = async <T>(work: () => Promise<T>): Promise<T> => {
    if (line.isDead) return never()
    line.inFlight++
    try {
      const failure = line.failures.shift()
      await pause(line.slowMs)
      if (line.isDead) throw lost()
      if (failure === 'before') throw lost()
      const result = await work()
      await pause(line.slowMs)
      if (failure === 'after') throw lost()
      return result
    } finally {
      line.inFlight--
      if (line.isDead) await never()
    }
  }
  const insertMany: typeof messages.insertMany = async (records, options) =>
    over(async () => {
      const ids = records.map(({ _id }) => _id as unknown as string)
      try {
        return await messages.insertMany(records, options)
      } finally {
        // Each is there now, brought in by this statement or before it: only duplicates are refused.
        inserted(ids)
      }
    })
  const disturbed = <C extends { toArray(): Promise<unknown[]> }>(cursor: C): C => {
    const toArray = cursor.toArray.bind(cursor)
    cursor.toArray = () => over(toArray)
    return cursor
  }
  const overridden: Record<string, unknown> = {
    insertMany,
    collectionName: messages.collectionName,
    find: (...args: Parameters<typeof messages.find>) => disturbed(messages.find(...args)),
    aggregate: (...args: Parameters<typeof messages.aggregate>) => disturbed(messages.aggregate(...args)),
    // Calls that only count are not disturbed.
    countDocuments: (...args: Parameters<typeof messages.countDocuments>) => messages.countDocuments(...args),
    findOne: (...args: Parameters<typeof messages.findOne>) => over(() => messages.findOne(...args)),
    findOneAndUpdate: (filter: object, update: object, options: object) =>
      over(() => messages.findOneAndUpdate(filter, update, options)),
    bulkWrite: (...args: Parameters<typeof messages.bulkWrite>) => over(() => messages.bulkWrite(...args)),
    updateMany: (...args: Parameters<typeof messages.updateMany>) => over(() => messages.updateMany(...args)),
    updateOne: (...args: Parameters<typeof messages.updateOne>) => over(() => messages.updateOne(...args)),
  }
  return new Proxy(messages, {
    get: (target, name) => {
      const own = overridden[String(name)]
      if (own !== undefined) return own
      throw new Error(`the line has no ${String(name)} of ${target.collectionName}`)
    },
  })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const lost = () => new mongo.MongoNetworkError('the line broke')
const never = <T>(): Promise<T> => new Promise<T>(() => {})
