import { beforeAll, expect, test } from '@jest/globals'
import { type Delivery, deliveryId, shardOf } from '@parley/dispatcher/message/delivery'
import { type DeliverOptions, deliverShard } from '@parley/dispatcher/outgoing/deliver-shard'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import type { Posted } from '@parley/dispatcher/outgoing/post-event'
import type { ShardWork } from '@parley/dispatcher/outgoing/shards'
import type { Subscription } from '@parley/dispatcher/outgoing/subscriptions'
import type { EventCollections } from '@parley/dispatcher/store/event-collections'
import { createLog } from '@parley/shared/log'
import fc from 'fast-check'
import { MODEL_RUNS } from '../../../../tests/sizes.ts'
import { eventDatabase } from './event-database.ts'

const log = createLog({ service: 'test', level: 'silent' })
const SETTLE_MS = 20_000
const LINES = 3
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const database = eventDatabase()
let collections: EventCollections
let histories = 0
beforeAll(() => {
  collections = database.collections
})

type Command =
  | { kind: 'insert'; line: number; count: number }
  | { kind: 'fail'; times: number }
  | { kind: 'slow'; ms: number }
  | { kind: 'crash' }
  | { kind: 'losesLease' }
  | { kind: 'storeFails'; times: number }
  | { kind: 'identityFails'; times: number }
  | { kind: 'replay'; which: number }
  | { kind: 'later'; ms: number }

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('insert' as const),
      line: fc.nat(LINES - 1),
      count: fc.integer({ min: 1, max: 6 }),
    }),
  },
  fc.record({ kind: fc.constant('fail' as const), times: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('slow' as const), ms: fc.nat(15) }),
  fc.constant({ kind: 'crash' as const }),
  fc.constant({ kind: 'losesLease' as const }),
  fc.record({ kind: fc.constant('storeFails' as const), times: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ kind: fc.constant('identityFails' as const), times: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ kind: fc.constant('replay' as const), which: fc.nat(50) }),
  fc.record({ kind: fc.constant('later' as const), ms: fc.integer({ min: 500, max: 8_000 }) }),
)

/** A worker of a process that may end at any moment. */
interface Process {
  work: ShardWork
  isLeased: boolean
  isDead: boolean
}

/** One subscription, its receiver, and the processes that deliver to it; beside them, what must come of it. */
class World {
  readonly subscription: Subscription
  /** The ids of each line's events, in order. */
  readonly lines = new Map<number, string[]>()
  /** The ids in the order in which they first arrived, and how often each did. */
  readonly arrived = new Map<string, number>()
  fails = 0
  slowMs = 0
  storeFails = 0
  identityFails = 0
  #ahead = 0
  #inserted = 0
  #process: Process
  readonly #processes: Process[] = []

  constructor() {
    const key = `1/${++histories}/0`
    this.subscription = {
      ...{
        key,
        shard: shardOf(key),
        workspace: 1,
        _id: histories,
        name: '',
        url: '',
        events: new Set<string>(),
      },
      ...{
        signingSecret: '',
        account: 1,
        activeSince: 0,
        isMarked: false,
        isMarkedFull: false,
        isFull: false,
      },
    }
    this.#process = this.#start()
  }

  readonly now = (): number => Date.now() + this.#ahead

  async run(one: Command): Promise<void> {
    if (one.kind === 'insert') await this.#insert(one.line, one.count)
    if (one.kind === 'fail') this.fails = one.times
    if (one.kind === 'slow') this.slowMs = one.ms
    if (one.kind === 'storeFails') this.storeFails = one.times
    if (one.kind === 'identityFails') this.identityFails = one.times
    if (one.kind === 'later') this.#ahead += one.ms
    if (one.kind === 'replay') await this.#replay(one.which)
    if (one.kind === 'losesLease' || one.kind === 'crash') {
      this.#process.isLeased = false
      this.#process.isDead = one.kind === 'crash'
      void this.#process.work.close()
      this.#process = this.#start()
    }
    await pause(5)
  }

  /** Everything works again: waits until nothing is left to do, then says what is wrong. */
  async settle(): Promise<string[]> {
    Object.assign(this, { fails: 0, slowMs: 0, storeFails: 0, identityFails: 0 })
    const until = performance.now() + SETTLE_MS
    const { key } = this.subscription
    const left = () =>
      collections.deliveries.countDocuments({ subscription: key, state: { $ne: 'delivered' } })
    while ((await left()) > 0 && performance.now() < until) {
      this.#ahead += 500
      await pause(10)
    }
    const undelivered = await left()
    for (const { work } of this.#processes) await work.close()
    return [...(undelivered > 0 ? [`${undelivered} not delivered`] : []), ...this.#violations()]
  }

  #violations(): string[] {
    const expected = [...this.lines.values()].flat()
    const first = [...this.arrived.keys()]
    const lost = expected.filter((id) => !this.arrived.has(id)).map((id) => `${id} never arrived`)
    const invented = first.filter((id) => !expected.includes(id)).map((id) => `${id} is nobody's`)
    const misplaced = [...this.lines].flatMap(([line, ids]) => {
      const order = first.filter((id) => ids.includes(id))
      return order.join() === ids.join() ? [] : [`line ${line} first arrived as ${order}, not ${ids}`]
    })
    return [...lost, ...invented, ...misplaced]
  }

  #start(): Process {
    const state = { isLeased: true, isDead: false }
    const work = deliverShard(this.subscription.shard, () => state.isLeased, this.#options(state))
    const started = Object.assign(state, { work })
    this.#processes.push(started)
    return started
  }

  #options(state: { isDead: boolean }): DeliverOptions {
    return {
      collections: { ...collections, deliveries: this.#failing(state) },
      subscriptions: { all: () => [this.subscription] },
      readable: async (_subscription, deliveries) => {
        if (this.identityFails-- > 0) throw new Error('identity is unavailable')
        return new Set(deliveries)
      },
      post: (delivery) => this.#post(delivery, state),
      mark: async () => undefined,
      markSubscription: async () => true,
      slots: { take: () => () => undefined },
      retentionMs: 3_600_000,
      now: this.now,
      lookMs: 5,
      log,
    }
  }

  /** The collection as one process has it: a dead one reads and writes no more. */
  #failing(state: { isDead: boolean }): EventCollections['deliveries'] {
    return new Proxy(collections.deliveries, {
      get: (real, name) => {
        const member = Reflect.get(real, name)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          if (state.isDead) throw new Error('this process is dead')
          if (name === 'updateOne' && this.storeFails-- > 0) throw new Error('MongoDB is unavailable')
          return member.apply(real, args)
        }
      },
    })
  }

  async #post({ _id }: Pick<Delivery, '_id'>, state: { isDead: boolean }): Promise<Posted> {
    if (state.isDead) throw new Error('this process is dead')
    this.arrived.set(_id, (this.arrived.get(_id) ?? 0) + 1)
    const fails = this.fails-- > 0
    await pause(this.slowMs)
    const at = new Date(this.now())
    return fails
      ? { attempt: { at, ms: 1, outcome: 'failed', code: 'http_500' }, reason: 'no', hasResponse: true }
      : { attempt: { at, ms: 1, outcome: 'accepted' }, reason: '', hasResponse: true }
  }

  async #insert(line: number, count: number): Promise<void> {
    const insert = createInsertDeliveries({ collections, retentionMs: 3_600_000, now: Date.now })
    const made = Array.from({ length: count }, () => {
      const key = `event ${this.#inserted++}`
      const data = { key }
      const named = { record: 'messages/m', line: `thread/${line}`, key, event: 'message.sent' }
      return { ...named, subscription: this.subscription, at: new Date(), data, shortData: data }
    })
    await insert(made)
    // As after a crash between the insert and the stored position.
    await insert(made)
    const ids = made.map(({ key }) => deliveryId(this.subscription.key, 'messages/m', key))
    this.lines.set(line, [...(this.lines.get(line) ?? []), ...ids])
  }

  async #replay(which: number): Promise<void> {
    const ended = await collections.deliveries
      .find({ subscription: this.subscription.key, state: 'delivered' })
      .toArray()
    const _id = ended[which % Math.max(1, ended.length)]?._id
    if (_id === undefined) return
    await collections.deliveries.updateOne({ _id }, { $set: { state: 'pending', fresh: true, tries: 0 } })
  }
}

test('through crashes, lost leases, failing receivers and replays, each event arrives under one id and lines stay in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 25 }), async (commands) => {
      const world = new World()
      for (const one of commands) await world.run(one)
      expect(await world.settle()).toEqual([])
    }),
    { numRuns: MODEL_RUNS },
  )
}, 600_000)
