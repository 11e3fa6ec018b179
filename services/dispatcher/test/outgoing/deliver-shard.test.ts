import { BlockList } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createHttpClient } from '@parley/dispatcher/channels/http/http-client'
import { deliveryId } from '@parley/dispatcher/message/delivery'
import { type DeliverOptions, deliverShard } from '@parley/dispatcher/outgoing/deliver-shard'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { createMarkReceiver, DISABLED_AFTER_MS } from '@parley/dispatcher/outgoing/mark-receiver'
import { createPostEvent, type Posted } from '@parley/dispatcher/outgoing/post-event'
import type { ShardWork } from '@parley/dispatcher/outgoing/shards'
import { createMarkSubscription, type Subscription } from '@parley/dispatcher/outgoing/subscriptions'
import type { EventCollections } from '@parley/dispatcher/store/event-collections'
import { eventually, listen } from '@parley/local/testing/service-under-test'
import { FairSlots } from '@parley/shared/fair-slots'
import { createLog } from '@parley/shared/log'
import { eventDatabase } from './event-database.ts'

const log = createLog({ service: 'test', level: 'silent' })
const HOUR = 3_600_000
const SECRET = `whsec_${'A'.repeat(32)}`
const database = eventDatabase()
let collections: EventCollections
let work: ShardWork
let ahead = 0
let marks: { state: string }[]
const now = () => Date.now() + ahead

beforeEach(() => {
  collections = database.collections
  ahead = 0
  marks = []
})
afterEach(() => work.close())

const subscription = (key: string): Subscription => ({
  ...{ key, shard: 0, workspace: 1, _id: 1, name: '', url: '', events: new Set<string>() },
  ...{ signingSecret: '', account: 1, activeSince: 0, isMarked: false, isMarkedFull: false, isFull: false },
})
const accepted = (): Posted => ({
  attempt: { at: new Date(now()), ms: 1, outcome: 'accepted' },
  reason: '',
  hasResponse: true,
})
const failed = (): Posted => ({
  attempt: { at: new Date(now()), ms: 1, outcome: 'failed', code: 'http_500' },
  reason: 'The endpoint answered 500.',
  hasResponse: true,
})

function deliver(
  subscriptions: Subscription[],
  post: DeliverOptions['post'],
  change: Partial<DeliverOptions> = {},
) {
  const configuration = {
    post: async (_path: string, mark: unknown) => {
      marks.push(mark as { state: string })
      return {}
    },
  }
  const markSubscription = createMarkSubscription({ configuration, log })
  work = deliverShard(0, () => true, {
    ...{ collections, post, now, log, lookMs: 5, retentionMs: HOUR },
    subscriptions: { all: () => subscriptions },
    readable: async (_subscription, deliveries) => new Set(deliveries),
    markSubscription,
    mark: createMarkReceiver({ markSubscription, subscribers: collections.subscribers }),
    slots: { take: () => () => undefined },
    ...change,
  })
}

async function insert(key: string, count: number): Promise<void> {
  const named = { event: 'message.sent', record: 'messages/m', at: new Date(), data: {}, shortData: {} }
  const deliveries = Array.from({ length: count }, (_, n) => ({
    ...{ ...named, subscription: subscription(key), line: `thread/${n}`, key: `${n}` },
  }))
  await createInsertDeliveries({ collections, retentionMs: HOUR, now })(deliveries)
}

const one = (key: string) => collections.deliveries.findOne({ _id: deliveryId(key, 'messages/m', '0') })
const triedTimes = (key: string, count: number) =>
  eventually(async () => {
    const delivery = await one(key)
    return (delivery?.attempts.length ?? 0) >= count ? (delivery ?? undefined) : undefined
  })

test('a delivery is tried again after 1 s, 5 s, 30 s, 2 min, 10 min, 1 h and 6 h, then it failed and its subscription is marked', async () => {
  await insert('a', 1)
  deliver([subscription('a')], async () => failed())
  const delays: number[] = []
  for (let tries = 1; tries <= 7; tries++) {
    const { due, attempts } = await triedTimes('a', tries)
    const seconds = ((due?.getTime() ?? 0) - (attempts.at(-1)?.at.getTime() ?? 0)) / 1_000
    delays.push(Math.round(seconds))
    expect(marks).toEqual([])
    ahead += seconds * 1_000
  }
  expect(delays).toEqual([1, 5, 30, 120, 600, 3_600, 21_600])
  expect(await triedTimes('a', 8)).toMatchObject({
    state: 'failed',
    reason: 'The endpoint answered 500. Given up after 8 tries.',
  })
  await eventually(() => marks.length > 0)
  expect(marks).toMatchObject([{ state: 'failing', reason: 'The endpoint answered 500.' }])
})

test('a delivery that failed while the clock of its instance was an hour ahead is tried again when that was meant', async () => {
  await insert('a', 1)
  ahead = HOUR
  deliver([subscription('a')], async () => failed())
  await triedTimes('a', 1)
  await work.close()
  ahead = 0
  const before = Date.now()
  deliver([subscription('a')], async () => failed())
  expect((await triedTimes('a', 2)).attempts[1]?.at.getTime()).toBeLessThan(before + 60_000)
})

test('a subscription that works again is marked so', async () => {
  await insert('a', 1)
  deliver([{ ...subscription('a'), isMarked: true }], async () => accepted())
  await eventually(() => marks.length > 0)
  expect(marks).toEqual([{ state: 'working' }])
})

test('a subscription to which nothing arrived for five days is turned off, and not before', async () => {
  await insert('a', 1)
  deliver([subscription('a')], async () => failed())
  await triedTimes('a', 1)
  ahead += DISABLED_AFTER_MS - 60_000
  await triedTimes('a', 2)
  expect(marks).toEqual([])
  ahead += 120_000
  await triedTimes('a', 3)
  await eventually(() => marks.length > 0)
  expect(marks).toMatchObject([{ state: 'disabled' }])
})

test('a subscription whose receiver is gone is turned off at once, and gets nothing more', async () => {
  await insert('a', 40)
  let posted = 0
  const receiver = await listen((_req, res) => {
    posted++
    res.writeHead(410).end()
  })
  const { http, post } = postReally()
  deliver([{ ...subscription('a'), url: receiver.url, signingSecret: SECRET }], post)
  await eventually(() => marks.length > 0)
  const ended = { state: 'failed' as const, reason: 'The endpoint answered 410.', tries: 1 }
  expect(await one('a')).toMatchObject(ended)
  expect(marks).toMatchObject([{ state: 'disabled', reason: expect.stringContaining('answered 410') }])
  ahead += 30_000
  await eventually(async () => (await collections.deliveries.countDocuments(ended)) === posted)
  // Only deliveries that left together with the first were posted: a receiver has 16 in flight.
  expect(posted).toBeLessThanOrEqual(16)
  await receiver.close()
  http.close()
})

test('a receiver that asks for time by Retry-After is left alone until then, for an hour at most', async () => {
  await insert('a', 40)
  let posted = 0
  let seconds = 90
  const receiver = await listen((_req, res) => {
    posted++
    res.writeHead(503, { 'retry-after': String(seconds) }).end()
  })
  const { http, post } = postReally()
  deliver([{ ...subscription('a'), url: receiver.url, signingSecret: SECRET }], post)
  const { due, attempts } = await triedTimes('a', 1)
  expect(Math.round(((due?.getTime() ?? 0) - (attempts[0]?.at.getTime() ?? 0)) / 1_000)).toBe(90)
  const tried = () => collections.deliveries.countDocuments({ tries: { $gt: 0 } })
  await eventually(async () => (await tried()) === posted)
  const before = posted
  expect(before).toBeLessThanOrEqual(16)
  seconds = 7 * 24 * 3_600
  ahead += 91_000
  await eventually(() => posted > before)
  const later = await eventually(async () => {
    return (await collections.deliveries.findOne({ due: { $gt: new Date(now() + 12 * HOUR) } })) ?? undefined
  })
  expect(later.due?.getTime()).toBeLessThanOrEqual(now() + 24 * HOUR)
  await work.close()
  await receiver.close()
  http.close()
})

test('a receiver that never asked delays no other, and has few requests in flight', async () => {
  await insert('dead', 300)
  await insert('alive', 300)
  let hanging = 0
  const end = new AbortController()
  const hang = () =>
    new Promise<Posted>((resolve) =>
      end.signal.addEventListener('abort', () => resolve({ ...failed(), hasResponse: false })),
    )
  deliver([subscription('dead'), subscription('alive')], async (_delivery, { key }) => {
    if (key !== 'dead') return accepted()
    hanging++
    return hang()
  })
  await eventually(async () => {
    const left = await collections.deliveries.countDocuments({ subscription: 'alive', state: 'pending' })
    return left === 0
  })
  expect(hanging).toBeLessThanOrEqual(16)
  end.abort()
})

test('what the account may not read is not posted, and nothing is posted while that is not known', async () => {
  await insert('a', 2)
  let asked = 0
  const posted: string[] = []
  deliver(
    [subscription('a')],
    async ({ _id }) => {
      posted.push(_id)
      return accepted()
    },
    {
      readable: async (_subscription, deliveries) => {
        if (asked++ === 0) throw new Error('identity is unavailable')
        return new Set(deliveries.filter(({ line }) => line === 'thread/1'))
      },
    },
  )
  await eventually(() => asked > 0)
  expect(posted).toEqual([])
  ahead += 10_000
  const refused = await eventually(async () => {
    const delivery = await one('a')
    return delivery?.state === 'failed' ? delivery : undefined
  })
  expect(refused).toMatchObject({ attempts: [], reason: 'The account of the subscription may not read it.' })
  await eventually(() => posted.length > 0)
  expect(posted).toEqual([deliveryId('a', 'messages/m', '1')])
})

test('what waits for a circuit breaker follows as soon as its probe was answered', async () => {
  await insert('a', 12)
  const clock = { at: Date.now() }
  let isUp = false
  let posted = 0
  const post = async () => {
    posted++
    return isUp ? accepted() : { ...failed(), hasResponse: false }
  }
  deliver([subscription('a')], post, { now: () => clock.at })
  const untilTried = (tries: 0 | 1) =>
    eventually(async () => (await collections.deliveries.countDocuments({ tries })) === 12)
  await untilTried(1)
  expect(posted).toBe(12)
  isUp = true
  clock.at += 6_000
  await eventually(async () => (await collections.deliveries.findOne({ state: 'delivered' })) ?? undefined)
  clock.at += 1_000
  await untilTried(0)
  expect(posted).toBe(24)
})

test('what was erased while it waited is not posted', async () => {
  const inLine = (key: string) => ({
    ...{ event: 'message.sent', record: 'messages/m', at: new Date(), data: {}, shortData: {} },
    ...{ subscription: subscription('a'), line: 'thread/t', key },
  })
  const save = createInsertDeliveries({ collections, retentionMs: HOUR, now })
  await save([inLine('first'), inLine('erased')])
  const posted: string[] = []
  const gate = Promise.withResolvers<void>()
  deliver([subscription('a')], async ({ _id }) => {
    posted.push(_id)
    await gate.promise
    return accepted()
  })
  await eventually(() => posted.length > 0)
  await collections.deliveries.deleteOne({ _id: deliveryId('a', 'messages/m', 'erased') })
  gate.resolve()
  await save([inLine('last')])
  await eventually(() => posted.length > 1)
  expect(posted).toEqual(['first', 'last'].map((key) => deliveryId('a', 'messages/m', key)))
})

test('a subscription for which too many events wait is marked so, and unmarked when they have left', async () => {
  await insert('a', 5)
  const own = subscription('a')
  const gate = Promise.withResolvers<void>()
  const post = async () => {
    await gate.promise
    return accepted()
  }
  deliver([own], post, { maxWaiting: 5, countMs: 0 })
  const marked = (state: string) => eventually(() => marks.find((mark) => mark.state === state) ?? undefined)
  expect(await marked('full')).toMatchObject({
    reason: '5 events wait for it: it gets no more until some have left.',
  })
  expect(await collections.subscribers.findOne({ _id: 'a' })).toMatchObject({ full: true })
  Object.assign(own, { isMarkedFull: true, isFull: true })
  gate.resolve()
  await marked('not_full')
  expect(await collections.subscribers.findOne({ _id: 'a' })).not.toHaveProperty('full')
})

test('a delivery that is broken off when its instance closes is no try: the next owner delivers it under the same id', async () => {
  await insert('a', 1)
  const received: unknown[] = []
  const brokenOff = Promise.withResolvers<void>()
  const receiver = await listen((req, res) => {
    received.push(req.headers['webhook-id'])
    if (received.length > 1) return res.end()
    req.on('close', brokenOff.resolve)
  })
  const to = { ...subscription('a'), url: receiver.url, signingSecret: SECRET }
  const first = postReally()
  deliver([to], first.post)
  await eventually(() => received.length > 0)
  await work.close()
  first.http.close()
  await brokenOff.promise
  expect(await one('a')).toMatchObject({ state: 'pending', fresh: true, tries: 0, attempts: [] })
  expect(await collections.subscribers.findOne({ _id: 'a' })).toBeNull()

  const second = postReally()
  deliver([to], second.post)
  const delivered = await eventually(async () => {
    const delivery = await one('a')
    return delivery?.state === 'delivered' ? delivery : undefined
  })
  expect(delivered.attempts).toMatchObject([{ outcome: 'accepted' }])
  expect(received).toEqual([delivered._id, delivered._id])
  second.http.close()
  await receiver.close()
})

function postReally() {
  const allowed = new BlockList()
  allowed.addAddress('127.0.0.1')
  const http = createHttpClient({ allowed })
  return { http, post: createPostEvent({ http, secrets: { open: () => undefined }, now }) }
}

test('receivers of one workspace that hang, however many, leave room for those of another', async () => {
  const hanging = ['a', 'b', 'c', 'd'].map(subscription)
  const other = { ...subscription('z'), workspace: 2 }
  for (const { key } of hanging) await insert(key, 16)
  await insert('z', 4)
  const hangs = Promise.withResolvers<Posted>()
  let inFlight = 0
  const post: DeliverOptions['post'] = async (_delivery, { workspace }) => {
    if (workspace === 2) return accepted()
    inFlight++
    return hangs.promise
  }
  deliver([...hanging, other], post, { slots: new FairSlots({ of: 'deliveries', total: 12, spare: 2 }) })
  const delivered = () => collections.deliveries.countDocuments({ subscription: 'z', state: 'delivered' })
  await eventually(async () => (await delivered()) === 4)
  expect(inFlight).toBeLessThanOrEqual(4)
  hangs.resolve(accepted())
})
