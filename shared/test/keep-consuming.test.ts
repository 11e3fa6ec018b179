import { EventEmitter } from 'node:events'
import { describe, expect, test } from '@jest/globals'
import { keepConsuming } from '@parley/shared/keep-consuming'
import { createLog } from '@parley/shared/log'
import type { ChannelModel, ConfirmChannel } from 'amqplib'

const log = createLog({ service: 'test', level: 'silent' })
const turn = () => new Promise((resolve) => setImmediate(resolve))

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come true within 10 s')
    await turn()
  }
}

/** A connection whose channels are opened when `opened` resolves, and remember whether they are open. */
function connectionOf(opened: Promise<void> = Promise.resolve()) {
  const channels: Array<EventEmitter & { isOpen: boolean; acked: number; deliver(): void }> = []
  const createConfirmChannel = async () => {
    await opened
    let take: (delivery: object) => void = () => {}
    const channel = Object.assign(new EventEmitter(), {
      isOpen: true,
      acked: 0,
      deliver: () => take({ content: Buffer.alloc(0), fields: {}, properties: {} }),
      ack: () => {
        channel.acked++
      },
      prefetch: async () => {},
      consume: async (_queue: string, taking: typeof take) => {
        take = taking
        return { consumerTag: 'x' }
      },
      close: async () => {
        channel.isOpen = false
        channel.emit('close')
      },
    })
    channels.push(channel)
    return channel as unknown as ConfirmChannel
  }
  return { channels, model: { createConfirmChannel } as unknown as ChannelModel }
}

const start = () => keepConsuming({ queue: 'q', held: () => true, work: async () => {}, log })

describe('a kept consumer', () => {
  test('lets go of a channel that an earlier connection opens late, and of the present one when it is closed', async () => {
    const late = Promise.withResolvers<void>()
    const earlier = connectionOf(late.promise)
    const present = connectionOf()
    const consumer = start()
    consumer.attach(earlier.model)
    consumer.attach(present.model)
    await turn()
    late.resolve()
    await turn()
    expect(earlier.channels.map(({ isOpen }) => isOpen)).toEqual([false])
    expect(present.channels.map(({ isOpen }) => isOpen)).toEqual([true])
    expect(consumer.isConsuming()).toBe(true)
    await consumer.close()
    expect(present.channels.map(({ isOpen }) => isOpen)).toEqual([false])
  })

  test('consumes once on a connection that it is told of twice', async () => {
    const { channels, model } = connectionOf()
    const consumer = start()
    consumer.attach(model)
    consumer.attach(model)
    await turn()
    expect(channels.filter(({ isOpen }) => isOpen).length).toBe(1)
    await consumer.close()
    expect(channels.filter(({ isOpen }) => isOpen).length).toBe(0)
  })

  test('that is closed while it opens a channel does not keep it', async () => {
    const late = Promise.withResolvers<void>()
    const { channels, model } = connectionOf(late.promise)
    const consumer = start()
    consumer.attach(model)
    const closing = consumer.close()
    late.resolve()
    await closing
    await turn()
    expect(channels.filter(({ isOpen }) => isOpen)).toEqual([])
  })

  test('whose work is not its own for a while consumes anew when it is again, from what it has not worked', async () => {
    let held = true
    let worked = 0
    const { channels, model } = connectionOf()
    const work = async () => {
      if (worked === 0) held = false
      worked++
      if (!held) throw new Error('the lease is gone')
    }
    const consumer = keepConsuming({ queue: 'q', held: () => held, work, log })
    consumer.attach(model)
    await turn()
    channels[0]?.deliver()
    await until(() => channels[0]?.isOpen === false)
    expect(consumer.isConsuming()).toBe(false)
    held = true
    await until(() => channels.length > 1 && consumer.isConsuming())
    channels[1]?.deliver()
    await until(() => channels[1]?.acked === 1)
    expect(channels[0]?.acked).toBe(0)
    await consumer.close()
  })
})
