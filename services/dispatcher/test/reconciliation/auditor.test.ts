import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { auditLagSeconds, reconciliationDifference } from '@parley/dispatcher/reconciliation/audit-state'
import { removeEnded } from '@parley/dispatcher/reconciliation/remove-ended'
import { eventually } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { declareTopology, LOG_QUEUE } from '@parley/shared/messaging/topology'
import { newRecord } from '../new-record.ts'
import { type AuditWorld, startAuditWorld } from './audit-world.ts'

let world: AuditWorld

beforeAll(async () => {
  world = await startAuditWorld()
})
afterAll(() => world.close())
afterEach(() => world.stop())

beforeEach(async () => {
  const { audited, audit, messages, rejected, removed } = world.collections
  for (const one of [audited, messages, rejected, removed]) await one.deleteMany({} as object)
  await audit.updateOne({ _id: 'log' }, { $unset: { offset: '', messageId: '', difference: '' } })
  const channel = world.channel
  await channel.deleteQueue(LOG_QUEUE)
  await declareTopology(channel)
  for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++)
    await channel.purgeQueue(testQueue(partition))
})

const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

describe('the auditor', () => {
  test('counts each id once, however often it comes, and nothing but messages', async () => {
    world.start()
    for (const id of ids('a', 20)) {
      await world.store(id, { state: 'delivered' })
      await world.accept(id)
    }
    await world.accept('a-3')
    await world.accept('command', { type: 'message.replay.v1' })
    await world.accept('last')
    await world.collections.rejected.insertOne({
      _id: 'last',
      reason: 'x',
      at: new Date(),
      expiresAt: new Date(Date.now() + 60_000),
    })
    await eventually(async () => (await world.audited()) === 21)
    expect(await world.balance()).toMatchObject({
      accepted: 21,
      delivered: 20,
      rejected: 1,
      inFlight: 0,
      unaudited: 0,
      difference: 0,
    })
  })

  test('goes on where another instance stopped, and counts nothing twice when the position was not written', async () => {
    world.start()
    for (const id of ids('b', 10)) await world.store(id)
    for (const id of ids('b', 5)) await world.accept(id)
    await eventually(async () => (await world.audited()) === 5)
    const position = () => world.collections.audit.findOne({ _id: 'log', offset: 4, messageId: 'b-4' })
    await eventually(async () => (await position()) !== null)
    await world.stop()
    await world.collections.audit.updateOne({ _id: 'log' }, { $set: { offset: 1, messageId: 'b-1' } })
    for (const id of ids('b', 10).slice(5)) await world.accept(id)
    world.start()
    await eventually(async () => (await world.audited()) === 10)
    expect(await world.balance()).toMatchObject({ accepted: 10, inFlight: 10, difference: 0, unaudited: 0 })
  })

  test('publishes again, as it came, what was lost on the way, until it is stored', async () => {
    world.start()
    await world.accept('lost', { partition: 3 })
    const taken = await world.take(3)
    const again = await world.take(3)
    const { headers, messageId, timestamp, type } = taken.properties
    expect(again.properties).toMatchObject({ headers, messageId, timestamp, type })
    expect(again.properties.headers).toEqual(headers)
    expect(again.content).toEqual(taken.content)
    await eventually(async () => (await world.difference()) === 1)
    expect(await reconciliationDifference(world.collections)).toMatchObject({
      difference: 1,
      ageSeconds: expect.any(Number),
      auditedUpTo: expect.any(Date),
    })
    await world.store('lost', { state: 'done' })
    await eventually(async () => (await world.difference()) === 0)
    expect(await world.balance()).toMatchObject({ accepted: 1, done: 1, difference: 0, unaudited: 0 })
  })

  test('says for how long what is accepted was not audited: next to nothing while it reads, more and more when nobody does', async () => {
    const lag = () => auditLagSeconds(world.collections)
    await world.collections.audit.updateOne({ _id: 'log' }, { $unset: { readUpTo: '' } })
    expect(await lag()).toBeUndefined()
    world.start()
    await eventually(async () => (await lag()) !== undefined)
    await world.accept('queued', { partition: 5, age: 60_000 })
    await eventually(async () => ((await lag()) ?? 0) > 50)
    await world.store('queued')
    await eventually(async () => ((await lag()) ?? Number.POSITIVE_INFINITY) < 30)
    await world.stop()
    expect(await auditLagSeconds(world.collections, Date.now() + 600_000)).toBeGreaterThan(590)
  })

  test('believes what this instance has just stored, and shows what is gone from the store since', async () => {
    world.start()
    await world.accept('noted')
    world.recentlyStored.note({ _id: 'noted', workspace: 1, channel: 'c', receivedAt: new Date() })
    await eventually(async () => (await world.audited()) === 1)
    expect(await world.balance()).toMatchObject({ accepted: 1, difference: 1 })
    await world.store('noted')
    expect(await world.balance()).toMatchObject({ accepted: 1, inFlight: 1, difference: 0 })
  })

  test('waits for what is still queued, however long', async () => {
    world.start()
    await world.accept('queued', { partition: 5 })
    await world.store('stored')
    await world.accept('stored', { partition: 6 })
    const late = Date.now() + 6_000
    await eventually(async () => ((await world.checkedAt())?.getTime() ?? 0) > late)
    expect([await world.audited(), await world.difference()]).toEqual([0, 0])
    await world.store('queued')
    await eventually(async () => (await world.audited()) === 2)
    expect(await world.balance()).toMatchObject({ accepted: 2, inFlight: 2, difference: 0 })
  })

  test('leaves alone what the store may have had and removed', async () => {
    world.start(2 * 60 * 60 * 1_000)
    await world.accept('older', { partition: 1, age: 3 * 60 * 60 * 1_000 })
    await world.accept('old', { partition: 1, age: 90 * 60 * 1_000 })
    const channel = world.channel
    await channel.purgeQueue(testQueue(1))
    await eventually(async () => (await world.difference()) === 1)
    expect(await world.audited()).toBe(1)
    expect((await channel.checkQueue(testQueue(1))).messageCount).toBe(0)
  })

  test('reads a log that began anew from its beginning', async () => {
    world.start()
    for (const id of ids('d', 8)) {
      await world.store(id)
      await world.accept(id)
    }
    await eventually(async () => (await world.audited()) === 8)
    const channel = world.channel
    await channel.deleteQueue(LOG_QUEUE)
    await declareTopology(channel)
    await world.store('new')
    await world.accept('new')
    await eventually(async () => (await world.audited()) === 9)
    expect(await world.balance()).toMatchObject({ accepted: 9, difference: 0 })
  })
})

describe('what is past its retention', () => {
  test('leaves the count as it was', async () => {
    const over = { expiresAt: new Date(Date.now() - 1_000) }
    const long = new Date(Date.now() - 3 * 60 * 60 * 1_000)
    const found = { workspace: 1, channel: 'c', hour: new Date(Math.floor(Date.now() / 3.6e6) * 3.6e6) }
    const { open: _open, ...ended } = newRecord({ receivedAt: new Date() })
    await world.collections.messages.insertMany(
      ids('e', 1_200).map((_id, n) => ({ ...ended, ...over, _id, state: n % 2 === 0 ? 'read' : 'dead' })),
    )
    await world.store('kept', { state: 'sent' })
    await world.collections.audited.insertMany([
      ...ids('e', 1_200).map((_id) => ({ ...found, _id, place: 'stored' as const })),
      { ...found, _id: 'kept', place: 'stored' },
      { ...found, _id: 'rejected', hour: long, place: 'rejected' },
    ])
    const before = await world.balance()
    expect(before).toMatchObject({
      accepted: 1_202,
      read: 600,
      dead: 600,
      sent: 1,
      rejected: 1,
      difference: 0,
    })
    const { collections, startSession } = world
    await removeEnded({ collections, startSession, retentionMs: 60_000, now: Date.now, active: () => true })
    expect(await world.collections.messages.distinct('_id')).toEqual(['kept'])
    expect(await world.collections.audited.distinct('_id')).toEqual(['kept'])
    expect(await world.balance()).toEqual(before)
  })
})
