import { EventEmitter } from 'node:events'
import { describe, expect, test } from '@jest/globals'
import { consumeEach, type EachOptions } from '@parley/shared/consume-each'
import { createLog } from '@parley/shared/log'
import type { ChannelModel, ConfirmChannel, ConsumeMessage } from 'amqplib'
import fc from 'fast-check'

const log = createLog({ service: 'test', level: 'silent' })
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A consumer on a channel in memory, and what it has acked: every delivery up to and with that number. */
async function start(options: Partial<EachOptions> = {}) {
  const acked: number[] = []
  let give: (delivery: ConsumeMessage) => void = () => {}
  const channel = Object.assign(new EventEmitter(), {
    isOpen: true,
    prefetch: async () => {},
    consume: async (_queue: string, taking: typeof give) => {
      give = taking
    },
    ack: ({ fields }: ConsumeMessage, upTo: boolean) => {
      if (!upTo || !channel.isOpen) throw new Error('one at a time, or too late')
      acked.push(fields.deliveryTag)
    },
    close: async () => {
      channel.isOpen = false
      channel.emit('close')
    },
  })
  const connection = { createConfirmChannel: async () => channel as unknown as ConfirmChannel }
  const taken = new Map<number, PromiseWithResolvers<void>>()
  const take = ({ fields }: ConsumeMessage) => {
    const promise = Promise.withResolvers<void>()
    taken.set(fields.deliveryTag, promise)
    return promise.promise
  }
  const consumer = await consumeEach({
    ...{ queue: 'q', prefetch: 10, held: () => true, take, log, closed: () => {} },
    connection: connection as unknown as ChannelModel,
    ...options,
  })
  const deliver = (deliveryTag: number, timestamp?: number) =>
    give({
      fields: { deliveryTag },
      properties: { timestamp },
      content: Buffer.alloc(0),
    } as unknown as ConsumeMessage)
  return { consumer, channel, acked, taken, deliver }
}

describe('deliveries that are worked side by side', () => {
  test('are acked in order, whatever order they are safe in, and each of them', () =>
    fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { minLength: 20, maxLength: 20 }),
        async (safe) => {
          const { acked, taken, deliver } = await start()
          for (let tag = 1; tag <= 20; tag++) deliver(tag)
          for (const [at, tag] of safe.entries()) {
            taken.get(tag)?.resolve()
            await turn()
            await turn()
            const done = new Set(safe.slice(0, at + 1))
            let prefix = 0
            while (done.has(prefix + 1)) prefix++
            expect(acked.at(-1) ?? 0).toBe(prefix)
          }
        },
      ),
      { numRuns: 20 },
    ))

  test('tell since when the oldest of them waits', async () => {
    const { consumer, taken, deliver } = await start()
    deliver(1, 100)
    deliver(2, 200)
    expect(consumer.oldestAt()).toBe(100_000)
    taken.get(1)?.resolve()
    await turn()
    await turn()
    expect(consumer.oldestAt()).toBe(200_000)
  })

  test('are waited for before the channel closes, and those that are safe acked', async () => {
    const { consumer, channel, acked, taken, deliver } = await start()
    deliver(1)
    deliver(2)
    const closed = consumer.close()
    deliver(3)
    taken.get(1)?.resolve()
    await turn()
    expect(channel.isOpen).toBe(true)
    taken.get(2)?.reject(new Error('left'))
    await closed
    expect([channel.isOpen, acked, taken.has(3)]).toEqual([false, [1], false])
  })

  test('of which one is left give the channel up, so that it comes again', async () => {
    const { channel, acked, taken, deliver } = await start()
    deliver(1)
    deliver(2)
    taken.get(1)?.reject(new Error('left'))
    await turn()
    taken.get(2)?.resolve()
    await turn()
    await turn()
    expect([channel.isOpen, acked]).toEqual([false, []])
  })

  test('that come when they are not ours give the channel up', async () => {
    const { channel, taken, deliver } = await start({ held: () => false })
    deliver(1)
    await turn()
    expect([channel.isOpen, taken.size]).toEqual([false, 0])
  })
})
