import { expect, test } from '@jest/globals'
import { defined } from '@parley/shared/defined'
import fc from 'fast-check'
import { type ThreadWrite, writeThreads } from '../../src/conversations/write-threads.ts'
import { type ThreadRecord, threadId } from '../../src/message/thread-record.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const WORKSPACE = 1
const THREADS = ['ana', '$ana', 'bruno', 'carla']
const database = dispatcherDatabase({ partitions: 1 })

const nameOf = (extId: string) => ({ workspace: WORKSPACE, channel: 'line', extId })
const at = fc.integer({ min: 1, max: 6 }).map((minute) => new Date(Date.UTC(2030, 0, 1, 0, minute)))
const text = fc.constantFrom('Olá', '$lastAt', '$$ROOT', '')
const write: fc.Arbitrary<ThreadWrite> = fc
  .record({
    extId: fc.constantFrom(...THREADS),
    lastAt: at,
    lastMessage: text,
    name: fc.option(text, { nil: undefined }),
    email: fc.option(text, { nil: undefined }),
    addresses: fc.option(
      fc.constantFrom('351', '352').map((digits) => [`phone:${digits}`]),
      { nil: undefined },
    ),
    lastInboundAt: fc.option(at, { nil: undefined }),
    expiresAt: at,
  })
  .map(({ extId, name, email, addresses, lastInboundAt, expiresAt, ...said }) => ({
    ...nameOf(extId),
    activity: { ...said, user: defined({ name, email }), ...defined({ addresses }) },
    ...defined({ lastInboundAt }),
    expiresAt,
  }))
/** Writes at once, each of another thread; or the erasure of one, which leaves a mark. */
const step = fc.oneof(
  { weight: 4, arbitrary: fc.uniqueArray(write, { maxLength: 4, selector: ({ extId }) => extId }) },
  { weight: 1, arbitrary: fc.record({ erased: fc.constantFrom(...THREADS), at }) },
)

type Model = Map<string, Partial<ThreadRecord>>

const later = (left: Date | undefined, right: Date | undefined) =>
  left === undefined || (right !== undefined && right > left) ? right : left

/** One write after another, as a person would do it. */
function apply(model: Model, { activity, extId, lastInboundAt, expiresAt }: ThreadWrite): void {
  const known = model.get(extId)
  const { handler = 'assistant', unread = 0 } = known ?? {}
  const inboundAt = later(known?.lastInboundAt, lastInboundAt)
  const isOlder = known?.lastAt !== undefined && known.lastAt > activity.lastAt
  // The mark of an erased thread that is later stays as it is.
  if (isOlder && known.extId === undefined) return
  const said = { ...nameOf(extId), ...activity, user: { ...known?.user, ...activity.user } }
  model.set(extId, {
    ...known,
    ...(isOlder ? {} : said),
    handler,
    unread,
    expiresAt: later(known?.expiresAt, expiresAt) as Date,
    ...defined({ lastInboundAt: inboundAt }),
  })
}

const markOf = (at: Date) =>
  ({ user: {}, handler: 'assistant', lastMessage: '', lastAt: at, unread: 0, expiresAt: at }) as const

test('threads are what their latest writes say, in whatever batches those come, and erased ones begin anew', async () => {
  const { threads } = database.collections
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      await threads.deleteMany({})
      const model: Model = new Map()
      for (const one of steps) {
        if ('erased' in one) {
          const mark = markOf(one.at)
          model.set(one.erased, mark)
          await threads.replaceOne({ _id: threadId(nameOf(one.erased)) }, mark as never, { upsert: true })
        } else {
          for (const written of one) apply(model, written)
          await writeThreads(threads, one)
        }
      }
      const stored = await threads.find({}, { projection: { openedAt: 0 } }).toArray()
      const expected = [...model].map(([extId, thread]) => ({ ...thread, _id: threadId(nameOf(extId)) }))
      expect(new Map(stored.map((thread) => [thread._id, thread]))).toEqual(
        new Map(expected.map((thread) => [thread._id, thread])),
      )
    }),
    { numRuns: 100 },
  )
})

test('a thread that was made later meanwhile keeps what was said in it, and the latest times', async () => {
  const { threads } = database.collections
  await threads.deleteMany({})
  const minute = (at: number) => new Date(Date.UTC(2030, 0, 1, 0, at))
  const said = (lastMessage: string, at: number): ThreadWrite => ({
    ...nameOf('ana'),
    activity: { lastMessage, lastAt: minute(at), user: {} },
    lastInboundAt: minute(9 - at),
    expiresAt: minute(9 - at),
  })
  let made = false
  const madeMeanwhile = new Proxy(threads, {
    get(target, name) {
      if (name === 'updateMany' && !made)
        return async () => {
          made = true
          await writeThreads(threads, [said('later', 5)])
          return { matchedCount: 0 }
        }
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await writeThreads(madeMeanwhile, [said('earlier', 2)])
  expect(await threads.findOne({ _id: threadId(nameOf('ana')) })).toMatchObject({
    ...{ lastMessage: 'later', lastAt: minute(5) },
    ...{ lastInboundAt: minute(7), expiresAt: minute(7) },
  })
})
