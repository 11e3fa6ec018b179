import { searchWords } from '@parley/dispatcher/message/search-words'
import { type ThreadRecord, threadId } from '@parley/dispatcher/message/thread-record'
import { collectionsOf, prepareDatabase } from '@parley/dispatcher/store/collections'
import { bucketOf, noCounts, SPAN_MS, type TrafficRecord } from '@parley/dispatcher/store/traffic-records'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import mongoose, { type mongo } from 'mongoose'

const WEEK_MS = 7 * 24 * SPAN_MS.hour
const YEAR_MS = 365 * 24 * SPAN_MS.hour
const ROW = 1_000
const CHANNELS = 10
const INSTANCES = 4
const text = (number: unknown) => ({ $toString: number })
const share = (of: number) => ({ $mod: ['$n', of] })

/**
 * Fills the dispatcher's database, before any service runs, as it would have: messages of the last week over threads, all
 * of them audited, 1 in 500 waiting, 1 in 100 dead. The database makes them itself, and the indexes last.
 */
export async function seedMessages(options: {
  mongo: { url: string; database: string }
  workspace: number
  /** A multiple of 1,000. */
  messages: number
  /** A multiple of 10, so that a thread is of one channel. */
  threads: number
}): Promise<void> {
  const { workspace, messages, threads } = options
  const connection = await mongoose
    .createConnection(options.mongo.url, { dbName: options.mongo.database })
    .asPromise()
  try {
    const now = Date.now()
    const db = connection.db as mongo.Db
    const numbered = [
      { $documents: Array.from({ length: messages / ROW }, (_, row) => ({ row })) },
      {
        $set: { n: { $range: [{ $multiply: ['$row', ROW] }, { $multiply: [{ $add: ['$row', 1] }, ROW] }] } },
      },
      { $unwind: '$n' },
      { $set: { at: { $subtract: [new Date(now), { $multiply: ['$n', WEEK_MS / messages] }] } } },
    ]
    const made = (fields: object, into: string) =>
      db.aggregate([...numbered, { $project: fields }, { $out: into }]).toArray()
    await made(messageOf({ workspace, threads, now }), 'messages')
    await made(auditedOf(workspace), 'audited')
    await prepareDatabase(connection, TEST_LAYOUT.partitions)
    const { threads: threadRecords, traffic } = collectionsOf(connection)
    const all = Array.from({ length: threads }, (_, n) =>
      threadAt({ workspace, now, each: WEEK_MS / messages }, n),
    )
    await threadRecords.insertMany(all, { ordered: false })
    await traffic.insertMany(trafficOf({ workspace, now, messages }), { ordered: false })
  } finally {
    await connection.close()
  }
}

/** The state of those whose last three digits are below the number, the first that fits; all others are read. */
const STATES = [
  [2, 'received'],
  [12, 'dead'],
  [15, 'failed'],
  [18, 'unrouted'],
  [68, 'done'],
  [318, 'sent'],
  [668, 'delivered'],
] as const
const STATE = STATES.reduceRight<unknown>(
  (otherwise, [below, state]) => ({ $cond: [{ $lt: [share(1_000), below] }, state, otherwise] }),
  'read',
)
const BODY = JSON.stringify({
  extId: 'line-1',
  user: { name: 'Ana Name7', phone: '+5511900000007' },
  thread: { extId: 'thread-7' },
  answer: { message: 'Your order has left our house, and is with you on Friday. '.repeat(4) },
})

function messageOf({ workspace, threads, now }: { workspace: number; threads: number; now: number }) {
  const ifWaiting = (value: unknown) => ({ $cond: [{ $lt: [share(1_000), 2] }, value, '$$REMOVE'] })
  const ifGivenUp = (value: unknown) => ({
    $cond: [{ $and: [{ $gte: [share(1_000), 2] }, { $lt: [share(1_000), 18] }] }, value, '$$REMOVE'],
  })
  const id = { $concat: ['bulk-', text('$n')] }
  return {
    _id: id,
    workspace: { $literal: workspace },
    partition: share(TEST_LAYOUT.partitions),
    thread: { $concat: ['thread-', text(share(threads))] },
    phone: { $concat: ['55119', text({ $add: [share(threads), 10_000_000] })] },
    order: '$n',
    revision: { $literal: 3 },
    channel: { $concat: ['line-', text(share(CHANNELS))] },
    source: 'api',
    requestId: { $concat: ['request-', text('$n')] },
    state: STATE,
    open: ifWaiting(true),
    due: ifWaiting(new Date(now + YEAR_MS)),
    waitingFor: ifWaiting('retry'),
    reason: ifGivenUp({ $concat: ['The provider refused it with code 13200', text(share(3)), '.'] }),
    fault: ifGivenUp('caller'),
    tries: { $literal: 0 },
    receivedAt: '$at',
    updatedAt: { $add: ['$at', 2_000] },
    expiresAt: { $cond: [{ $lt: [share(1_000), 2] }, '$$REMOVE', new Date(now + YEAR_MS)] },
    body: { $literal: BODY },
    sends: [
      {
        id: { $concat: [id, ':0'] },
        content: { kind: 'text', text: 'Your order has left our house.' },
        state: { $cond: [{ $lt: [share(1_000), 2] }, 'pending', 'delivered'] },
        providerId: { $concat: ['wamid.', text('$n')] },
      },
    ],
    timeline: [
      { at: '$at', state: 'received' },
      { at: { $add: ['$at', 2_000] }, state: STATE },
    ],
    attempts: [{ at: '$at', step: { $concat: [id, ':0'] }, outcome: 'accepted', ms: { $literal: 80 } }],
  }
}

const auditedOf = (workspace: number) => ({
  _id: { $concat: ['bulk-', text('$n')] },
  workspace: { $literal: workspace },
  channel: { $concat: ['line-', text(share(CHANNELS))] },
  hour: { $dateTrunc: { date: '$at', unit: 'hour' } },
  place: 'stored',
})

/** Every tenth has something to read, every twentieth is a person's. */
function threadAt(
  { workspace, now, each }: { workspace: number; now: number; each: number },
  n: number,
): ThreadRecord {
  const person = `Ana Name${n % 500}`
  const name = { workspace, channel: `line-${n % CHANNELS}`, extId: `thread-${n}` }
  const phone = `55119${10_000_000 + n}`
  return {
    _id: threadId(name),
    ...name,
    user: { name: person, phone: `+${phone}` },
    handler: n % 20 === 0 ? 'person' : 'assistant',
    lastMessage: 'Your order has left our house.',
    lastAt: new Date(now - n * each),
    unread: n % 10 === 0 ? 1 : 0,
    phone,
    words: searchWords(person),
    expiresAt: new Date(now + YEAR_MS),
  }
}

/** The last hour by the minute and the last week by the hour, from so many instances each. */
function trafficOf(options: { workspace: number; now: number; messages: number }): TrafficRecord[] {
  const { workspace, now, messages } = options
  const spans = [
    { span: 'minute', periods: 60 },
    { span: 'hour', periods: 168 },
  ] as const
  return spans.flatMap(({ span, periods }) =>
    Array.from({ length: periods * INSTANCES }, (_, n): TrafficRecord => {
      const share = Math.round((messages * SPAN_MS[span]) / WEEK_MS / INSTANCES)
      return {
        _id: `seed-${span}-${n}`,
        workspace,
        span,
        at: new Date((Math.floor(now / SPAN_MS[span]) - Math.floor(n / INSTANCES)) * SPAN_MS[span]),
        counts: { ...noCounts(), accepted: share, sent: share, delivered: share },
        latency: Object.fromEntries(
          Array.from({ length: 60 }, (_, ms) => [bucketOf(20 + ms * ms), 1 + (n % 7)]),
        ),
        numbers:
          span === 'hour'
            ? []
            : Array.from({ length: CHANNELS }, (_, line) => ({
                ...{ number: `10000${line}`, channel: `line-${line}`, sends: 1 + n },
              })),
        expiresAt: new Date(now + YEAR_MS),
      }
    }),
  )
}
