import { EventEmitter } from 'node:events'
import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { consumeBatches, consumeEach } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions, DeadLetter } from '@parley/shared/messaging/deliveries'
import type { Publication } from '@parley/shared/messaging/publish-observer'
import type { Channel, ChannelModel, ConsumeMessage } from 'amqplib'
import fc from 'fast-check'

const log = createLog({ service: 'test', level: 'silent' })
const declare = async () => {}
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A channel in memory that says when what is delivered, and remembers what was acked: all up to that number. */
class MemoryChannel extends EventEmitter {
  isOpen = true
  closes = 0
  readonly acked: number[] = []
  #take: (delivery: ConsumeMessage) => void = () => {}
  async prefetch() {}
  async consume(_queue: string, take: (delivery: ConsumeMessage) => void) {
    this.#take = take
  }
  ack({ fields }: ConsumeMessage, upTo: boolean) {
    if (!upTo || !this.isOpen) throw new Error('one at a time, or too late')
    this.acked.push(fields.deliveryTag)
  }
  /** As amqplib's: nothing may be acked any more, and a moment later it is closed. */
  async close() {
    this.closes++
    this.isOpen = false
    await turn()
    this.emit('close')
  }
  deliver(deliveryTag: number, timestamp?: number) {
    const properties = { timestamp, messageId: `m${deliveryTag}`, headers: { workspace: 1 } }
    const delivery = { fields: { deliveryTag }, properties, content: Buffer.from(`content ${deliveryTag}`) }
    this.#take(delivery as unknown as ConsumeMessage)
  }
}

/** A connection whose channels are opened when `opened` resolves. */
function connectionOf(opened: Promise<void> = Promise.resolve()) {
  const channels: MemoryChannel[] = []
  const createChannel = async () => {
    await opened
    const channel = new MemoryChannel()
    channels.push(channel)
    return channel as unknown as Channel
  }
  return { channels, model: Object.assign(new EventEmitter(), { createChannel }) as unknown as ChannelModel }
}

/** A consumer of single deliveries, of which a test says when each is worked, and how. */
async function startEach(options: Partial<ConsumerOptions> = {}) {
  const taken = new Map<number, PromiseWithResolvers<DeadLetter | undefined>>()
  const take = ({ fields }: ConsumeMessage) => {
    const outcome = Promise.withResolvers<DeadLetter | undefined>()
    taken.set(fields.deliveryTag, outcome)
    return outcome.promise
  }
  const consumer = consumeEach({ queue: 'q', prefetch: 10, take, declare, log, ...options })
  const { channels, model } = connectionOf()
  consumer.attach(model)
  await eventually(() => consumer.isConsuming())
  return { consumer, channel: channels[0] as MemoryChannel, taken }
}

const worked = (taken: Awaited<ReturnType<typeof startEach>>['taken'], tag: number) =>
  taken.get(tag)?.resolve(undefined)

describe('a consumer of single deliveries', () => {
  test('acks nothing on a channel that it gives up, though something was done a moment before', async () => {
    const { channel, consumer, taken } = await startEach()
    channel.deliver(1)
    channel.deliver(2)
    worked(taken, 1)
    taken.get(2)?.reject(new Error('the store is unavailable'))
    await eventually(() => !consumer.isConsuming())
    await turn()
    expect(channel.acked).toEqual([])
  })

  test('acks them in the order of their arrival, whatever order they are worked in', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { minLength: 20, maxLength: 20 }),
        async (sequence) => {
          const { consumer, channel, taken } = await startEach()
          for (let tag = 1; tag <= 20; tag++) channel.deliver(tag)
          for (const [at, tag] of sequence.entries()) {
            worked(taken, tag)
            await turn()
            await turn()
            const done = new Set(sequence.slice(0, at + 1))
            let prefix = 0
            while (done.has(prefix + 1)) prefix++
            expect(channel.acked.at(-1) ?? 0).toBe(prefix)
          }
          await consumer.close()
        },
      ),
      { numRuns: 20 },
    ))

  test('knows when the oldest delivery in flight was published', async () => {
    const { consumer, channel, taken } = await startEach()
    channel.deliver(1, 100)
    channel.deliver(2, 200)
    expect(consumer.oldestAt()).toBe(100_000)
    worked(taken, 1)
    await turn()
    await turn()
    expect(consumer.oldestAt()).toBe(200_000)
    consumer.abandon()
  })

  test('waits at its close for what it has taken, acks what is worked, and takes nothing more', async () => {
    const { consumer, channel, taken } = await startEach()
    channel.deliver(1)
    channel.deliver(2)
    const closed = consumer.close()
    channel.deliver(3)
    worked(taken, 1)
    await turn()
    expect(channel.isOpen).toBe(true)
    taken.get(2)?.reject(new Error('left'))
    await closed
    expect([channel.isOpen, channel.acked, taken.has(3)]).toEqual([false, [1], false])
  })

  test('closes the channel after one that is left, so that it is delivered again', async () => {
    const { consumer, channel, taken } = await startEach()
    channel.deliver(1)
    channel.deliver(2)
    taken.get(1)?.reject(new Error('left'))
    await turn()
    worked(taken, 2)
    await turn()
    await turn()
    expect([channel.isOpen, channel.acked]).toEqual([false, []])
    await consumer.close()
  })

  test('closes the channel once, however many are left', async () => {
    const { consumer, channel, taken } = await startEach()
    for (const tag of [1, 2, 3]) channel.deliver(tag)
    for (const { reject } of taken.values()) reject(new Error('left'))
    await turn()
    expect([channel.isOpen, channel.closes]).toEqual([false, 1])
    await consumer.close()
  })

  test('closes the channel when a delivery arrives that is not its own to work', async () => {
    let isActive = true
    const { consumer, channel, taken } = await startEach({ isActive: () => isActive })
    isActive = false
    channel.deliver(1)
    await turn()
    expect([channel.isOpen, taken.size]).toEqual([false, 0])
    await consumer.close()
  })

  test('publishes a dead letter with its reason, and acks it only when that is confirmed', async () => {
    const confirmed = Promise.withResolvers<void>()
    const published: Publication[] = []
    const publish = (publication: Publication) => {
      published.push(publication)
      return confirmed.promise
    }
    const deliveries: ConsumeMessage[] = []
    const { channels, model } = connectionOf()
    const consumer = consumeEach({
      queue: 'q',
      declare,
      log,
      deadLetters: { publish },
      take: async (delivery) => {
        deliveries.push(delivery)
        return { delivery, reason: 'unreadable' }
      },
    })
    consumer.attach(model)
    await eventually(() => consumer.isConsuming())
    channels[0]?.deliver(7)
    await eventually(() => published.length > 0)
    await turn()
    expect(channels[0]?.acked).toEqual([])
    expect(published).toEqual([
      expect.objectContaining({
        exchange: 'rejected',
        messageId: 'm7',
        mandatory: true,
        body: Buffer.from('content 7'),
        headers: { workspace: 1, reason: 'unreadable' },
      }),
    ])
    confirmed.resolve()
    await eventually(() => channels[0]?.acked.length === 1)
    await consumer.close()
  })

  test('leaves a dead letter that is not confirmed to be delivered again', async () => {
    const publish = () => Promise.reject(new Error('no broker'))
    const { consumer, channel, taken } = await startEach({ deadLetters: { publish } })
    channel.deliver(1)
    taken.get(1)?.resolve({ delivery: { properties: {} } as ConsumeMessage, reason: 'unreadable' })
    await eventually(() => !channel.isOpen)
    expect(channel.acked).toEqual([])
    await consumer.close()
  })
})

describe('a consumer of batches', () => {
  const idle = () => consumeBatches({ queue: 'q', work: async () => [], declare, log })

  test('works one batch at a time, and the same one again until it succeeds', async () => {
    const batches: number[][] = []
    const { channels, model } = connectionOf()
    const consumer = consumeBatches({
      queue: 'q',
      declare,
      log,
      work: async (batch) => {
        batches.push(batch.map(({ fields }) => fields.deliveryTag))
        if (batches.length === 1) throw new Error('the database is unavailable')
        return []
      },
    })
    consumer.attach(model)
    await eventually(() => consumer.isConsuming())
    for (const tag of [1, 2, 3]) channels[0]?.deliver(tag)
    await eventually(() => channels[0]?.acked.at(-1) === 3)
    expect(batches).toEqual([[1], [1], [2, 3]])
    await consumer.close()
  })

  test('acks the rest of a batch after the dead letters in it are published', async () => {
    const reasons: unknown[] = []
    const publish = async ({ headers }: Publication) => void reasons.push(headers?.reason)
    const { channels, model } = connectionOf()
    const consumer = consumeBatches({
      queue: 'q',
      declare,
      log,
      deadLetters: { publish },
      work: async (batch) =>
        batch
          .filter(({ fields }) => fields.deliveryTag === 2)
          .map((delivery) => ({ delivery, reason: 'unreadable' })),
    })
    consumer.attach(model)
    await eventually(() => consumer.isConsuming())
    for (const tag of [1, 2, 3]) channels[0]?.deliver(tag)
    await eventually(() => channels[0]?.acked.at(-1) === 3)
    expect(reasons).toEqual(['unreadable'])
    await consumer.close()
  })

  test('closes a channel that an earlier connection opens late, and the present one when it is closed', async () => {
    const late = Promise.withResolvers<void>()
    const earlier = connectionOf(late.promise)
    const present = connectionOf()
    const consumer = idle()
    consumer.attach(earlier.model)
    consumer.attach(present.model)
    await eventually(() => consumer.isConsuming())
    late.resolve()
    await eventually(() => earlier.channels[0]?.isOpen === false)
    expect(present.channels.map(({ isOpen }) => isOpen)).toEqual([true])
    expect(consumer.isConsuming()).toBe(true)
    await consumer.close()
    expect(present.channels.map(({ isOpen }) => isOpen)).toEqual([false])
  })

  test('consumes once on a connection that it gets twice', async () => {
    const { channels, model } = connectionOf()
    const consumer = idle()
    consumer.attach(model)
    consumer.attach(model)
    await eventually(() => consumer.isConsuming())
    expect(channels.filter(({ isOpen }) => isOpen).length).toBe(1)
    await consumer.close()
    expect(channels.filter(({ isOpen }) => isOpen).length).toBe(0)
  })

  test('that is closed while it opens a channel closes that as well', async () => {
    const late = Promise.withResolvers<void>()
    const { channels, model } = connectionOf(late.promise)
    const consumer = idle()
    consumer.attach(model)
    const closing = consumer.close()
    late.resolve()
    await closing
    await eventually(() => channels[0]?.isOpen === false && !consumer.isConsuming())
  })

  test('that is inactive for a while consumes again when it is active, from what it has not worked', async () => {
    let isActive = true
    let works = 0
    const { channels, model } = connectionOf()
    const work = async () => {
      if (works === 0) isActive = false
      works++
      if (!isActive) throw new Error('the lease is gone')
      return []
    }
    const consumer = consumeBatches({ queue: 'q', isActive: () => isActive, work, declare, log })
    consumer.attach(model)
    await eventually(() => consumer.isConsuming())
    channels[0]?.deliver(1)
    await eventually(() => channels[0]?.isOpen === false && !consumer.isConsuming())
    isActive = true
    await eventually(() => channels.length > 1 && consumer.isConsuming())
    channels[1]?.deliver(1)
    await eventually(() => channels[1]?.acked.length === 1)
    expect(channels[0]?.acked).toEqual([])
    await consumer.close()
  })
})
