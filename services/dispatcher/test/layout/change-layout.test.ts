import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { MESSAGE_TYPE } from '@parley/shared/message'
import {
  declareLayout,
  layoutExchange,
  partitionOfSlot,
  partitionQueue,
  SLOTS_EXCHANGE,
  slotKey,
  slotOf,
} from '@parley/shared/messaging/layout'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import type { ConsumeMessage } from 'amqplib'
import { requestChange } from '../../src/layout/change-layout.ts'
import { deleteQueues } from '../../src/layout/delete-queues.ts'
import { moveMessages, openNext } from '../../src/layout/move-messages.ts'
import { createLeaseStore } from '../../src/store/lease-store.ts'
import { newRecord } from '../new-record.ts'
import { type LayoutWorld, startLayoutWorld } from './layout-world.ts'

let world: LayoutWorld

beforeEach(async () => {
  world = await startLayoutWorld()
})
afterEach(() => world.close())

const publish = async (key: string, messageId: string, thread = 't', exchange = MESSAGES_EXCHANGE) => {
  world.channel.publish(exchange, key, Buffer.from('{}'), {
    messageId,
    type: MESSAGE_TYPE,
    headers: { workspace: 1, thread },
  })
  await world.channel.waitForConfirms()
}

/** The messages in a queue up to this one, taken out of it. */
const takenUpTo = async (queue: string, last: string): Promise<string[]> => {
  const found: string[] = []
  const isFound = Promise.withResolvers<void>()
  const take = (delivery: ConsumeMessage | null) => {
    found.push(delivery?.properties.messageId)
    if (found.at(-1) === last) isFound.resolve()
  }
  const { consumerTag } = await world.channel.consume(queue, take, { noAck: true })
  await isFound.promise
  await world.channel.cancel(consumerTag)
  return found
}

const underChange = async (phase: 'draining' | 'moving', partitions: number) => {
  const change = { partitions, phase, requestedAt: new Date(), switchedAt: new Date(), moved: 0 }
  await world.collections.layouts.updateOne({ _id: 'messages' }, { $set: { change } })
  return { layout: await world.layout(), change }
}

test('while an instance of a version without slots lives its keys lead to partitions, and webhooks use slots once it is gone', async () => {
  const { collections } = world
  const free = { owner: null, term: 4, expiresAt: new Date(0) }
  await collections.partitions.insertMany(Array.from({ length: 8 }, (_, _id) => ({ _id, ...free })))
  await world.prepare()
  const alive = setInterval(
    () =>
      void collections.instances.updateOne({ _id: 'earlier' }, [{ $set: { seenAt: '$$NOW' } }], {
        upsert: true,
      }),
    100,
  )
  await eventually(async () => (await collections.instances.findOne({ _id: 'earlier' })) ?? undefined)
  await world.startInstance()
  await requestChange(collections, 16)
  await publish('p3', 'by its key')
  expect(await takenUpTo('messages.p3', 'by its key')).toHaveLength(1)
  expect(await world.exists(SLOTS_EXCHANGE)).toBe(false)
  expect((await world.layout()).change?.phase).toBe('requested')
  clearInterval(alive)
  await collections.instances.deleteOne({ _id: 'earlier' })
  await eventually(async () => (await world.layout()).change?.phase === 'draining')
  expect(await world.exists(SLOTS_EXCHANGE)).toBe(true)
  await publish(slotKey(27), 'by its slot')
  expect(await takenUpTo('messages.g2.p11', 'by its slot')).toHaveLength(1)
})

describe('a change', () => {
  test('is not undone by an instance that connects meanwhile, and has read the layout before', async () => {
    const { collections } = world
    await world.prepare()
    await world.startInstance()
    const isDraining = eventually(async () => (await world.layout()).change?.phase === 'draining')
    let reads = 0
    const read = async () => {
      const layout = await world.layout()
      reads++
      if (reads === 1) {
        await requestChange(collections, 16)
        await isDraining
      } else await publish(slotKey(3), `${reads}`)
      return layout
    }
    await world.startInstance({ changes: false, read })
    expect(reads).toBeGreaterThan(1)
    expect(await takenUpTo('messages.g2.p3', '2')).toContain('2')
    await publish(slotKey(3), 'last', 't', layoutExchange({ generation: 1 }))
    expect(await takenUpTo('messages.p3', 'last')).not.toContain('2')
  })

  test('goes on although the instance that began it, and is gone, had a clock that was ahead', async () => {
    const { collections } = world
    await world.prepare()
    await underChange('draining', 16)
    await collections.layouts.updateOne(
      {},
      { $set: { 'change.switchedAt': new Date(Date.now() + 3_600_000) } },
    )
    await collections.partitions.updateMany({}, { $set: { drained: true } })
    await world.startInstance()
    await eventually(async () => (await world.layout()).generation === 2)
  })

  test('gives open messages to the partitions of their slots, and their sequence numbers go on growing', async () => {
    const { collections, startSession } = world
    await world.prepare()
    const threads = Array.from({ length: 2_500 }, (_, n) => `thread-${n}`)
    const partitionIn = (partitions: number, thread: string) =>
      partitionOfSlot(slotOf(1, thread), { partitions })
    await collections.messages.insertMany(
      threads.map((thread, n) => {
        const record = newRecord({ _id: thread, thread, partition: partitionIn(8, thread) })
        const { open: _open, ...ended } = record
        return n % 5 === 0 ? ended : record
      }),
    )
    await collections.partitions.updateOne({ _id: 5 }, { $set: { term: 77 } })
    const { layout, change } = await underChange('moving', 3)
    const options = { collections, startSession, renew: async () => true }
    await moveMessages(options, layout, change)
    await openNext(options, layout, change)
    for await (const { thread, partition, open } of collections.messages.find())
      expect(partition).toBe(partitionIn(open ? 3 : 8, thread))
    expect(await world.layout()).toMatchObject({
      ...{ generation: 2, partitions: 3 },
      previous: { generation: 1, partitions: 8 },
    })
    expect(await collections.partitions.countDocuments()).toBe(3)
    const lease = await createLeaseStore({ collections, instance: 'i' }).acquire([])
    expect(lease).toMatchObject({ generation: 2, term: 78 })
  })

  test('moves nothing any more once another instance has carried it out', async () => {
    const { collections, startSession } = world
    await world.prepare()
    const { layout, change } = await underChange('moving', 3)
    const options = { collections, startSession, renew: async () => true }
    await openNext(options, layout, change)
    await collections.messages.insertOne(
      newRecord({ _id: 'm', thread: 'thread-2', partition: 7, open: true }),
    )
    await expect(moveMessages(options, layout, change)).rejects.toThrow('another instance')
    await expect(openNext(options, layout, change)).rejects.toThrow('another instance')
    expect((await collections.messages.findOne({ _id: 'm' }))?.partition).toBe(7)
  })

  test('leaves a drained partition to nobody, unless its threads are to be written', async () => {
    const { collections } = world
    await world.prepare(2)
    const leases = createLeaseStore({ collections, instance: 'i' })
    const first = await leases.acquire([])
    const second = await leases.acquire(first === undefined ? [] : [first.partition])
    if (first === undefined || second === undefined) throw new Error('a lease was not free')
    const threads = { until: new Date(), retentionMs: 1 }
    await collections.partitions.updateOne({ _id: second.partition }, { $set: { threads } })
    for (const lease of [first, second]) await leases.release(lease, { isDrained: true })
    expect((await leases.acquire([]))?.partition).toBe(second.partition)
    expect(await leases.acquire([second.partition])).toBeUndefined()
  })

  test('deletes the queues of before, and what is left in one goes to the present ones', async () => {
    await world.prepare()
    const { broker, publisher } = await world.startInstance({ changes: false })
    const thread = 'thread-2'
    await publish(slotKey(slotOf(1, thread)), 'left', thread)
    const [previous, present] = [
      { generation: 1, partitions: 8 },
      { generation: 2, partitions: 16 },
    ]
    await declareLayout(world.channel, present)
    await deleteQueues({ broker, publisher }, { previous, present })
    // Once more, as after an instance that was killed in the middle.
    await deleteQueues({ broker, publisher }, { previous, present })
    const partition = partitionOfSlot(slotOf(1, thread), present)
    expect(await takenUpTo(partitionQueue({ generation: 2, partition }), 'left')).toHaveLength(1)
    expect(await world.exists(layoutExchange(previous))).toBe(false)
  })
})
