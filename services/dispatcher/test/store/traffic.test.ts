import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator, type Simulator } from '@parley/local/simulator/app'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { STATUS_TYPE } from '@parley/shared/message-status'
import { MESSAGES_EXCHANGE, statusKey } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import type { MessageRecord } from '../../src/message/message-record.ts'
import type { AuditedMessage } from '../../src/store/audit-records.ts'
import { createTraffic } from '../../src/store/traffic.ts'
import { percentile, type TrafficRecord } from '../../src/store/traffic-records.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

const HOUR_MS = 3_600_000

let world: DispatchWorld
let simulator: Simulator
let provider: Listening

beforeAll(async () => {
  simulator = await buildSimulator({})
  provider = await listen(simulator.app)
  world = await startDispatchWorld()
  const kinds = { hook: 'whatsapp', callback: 'whatsapp', handlerUrl: 'native:agents/echo' }
  const putLine = (id: number, extId: string, accessToken: string) =>
    world.putChannel(id, {
      ...{ name: '', description: '', extId, ...kinds },
      config: { phoneNumberId: `70${id}`, apiUrl: `${provider.url}/v23.0`, accessToken },
    })
  await putLine(1, 'fine', 'secret')
  await putLine(2, 'broken', 'expired')
})
afterAll(async () => {
  await world.close()
  await provider.close()
  await simulator.close()
})

const text = (extId: string, thread: string) => ({
  extId,
  user: { phone: '+5511900000000' },
  thread: { extId: thread },
  answer: { message: 'hi' },
})

interface SeenTraffic {
  from: string
  by: string
  accepted: number
  sent: number
  delivered: number
  read: number
  dead: number
  unrouted: number
  latency: { p50: number; p99: number } | null
  periods: { at: string; accepted: number; dead: number }[]
  numbers: { number: string; channels: string[]; sends: number; busiest: number; limit: number }[]
  difference: number
}
const readTraffic = async (query = '', options: { workspace?: number } = {}) => {
  const { status, json } = await world.get(`/rest/messages/traffic${query}`, options)
  expect(status).toBe(200)
  return json as SeenTraffic
}
const trafficWith = (condition: (seen: SeenTraffic) => boolean, query = '') =>
  eventually(async () => {
    const seen = await readTraffic(query)
    return condition(seen) ? seen : undefined
  })

async function reportRead(messageId: string): Promise<void> {
  const body = {
    ...{ workspace: world.workspace, channel: 'fine', providerId: 'wamid.1', opaque: `${messageId}:0` },
    ...{ status: 'read', at: new Date().toISOString(), recipient: null },
  }
  const broker = await connect(world.amqpUrl)
  const channel = await broker.createConfirmChannel()
  channel.publish(MESSAGES_EXCHANGE, statusKey(0), Buffer.from(JSON.stringify(body)), { type: STATUS_TYPE })
  await channel.waitForConfirms()
  await broker.close()
}

describe('traffic', () => {
  test('counts what came in, left, arrived and died, once each, by the minute and by the hour, with latencies', async () => {
    for (const id of ['t-1', 't-2', 't-3']) await world.post(id, text('fine', id))
    await world.post('t-1', text('fine', 't-1'))
    await world.post('t-dead', text('broken', 't-dead'))
    await world.post('t-nowhere', text('no such line', 't-nowhere'))
    for (const id of ['t-1', 't-2', 't-3']) await world.message(id, 'sent')
    await world.message('t-dead', 'dead')
    await world.message('t-nowhere', 'unrouted')
    await reportRead('t-1')
    await world.message('t-1', 'read')
    const counted = { accepted: 5, sent: 3, delivered: 1, read: 1, dead: 1, unrouted: 1, difference: 0 }
    const hour = await trafficWith((seen) => seen.accepted >= 5 && seen.read === 1 && seen.dead === 1)
    expect(hour).toMatchObject({ by: 'minute', ...counted })
    expect(hour.latency?.p50).toBeGreaterThan(0)
    expect(hour.latency?.p99).toBeGreaterThanOrEqual(hour.latency?.p50 ?? Number.NaN)
    expect(hour.periods.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(5)
    for (const { at } of hour.periods) expect(at).toMatch(/:00\.000Z$/)
    for (const last of ['day', 'week']) {
      const longer = await readTraffic(`?last=${last}`)
      expect(longer).toMatchObject({ by: 'hour', ...counted })
      for (const { at } of longer.periods) expect(at).toMatch(/:00:00\.000Z$/)
    }
  })

  test('is the sum of what all instances have counted, of the time asked for, with the use of each number', async () => {
    const workspace = world.workspace + 2_000
    const thisMinute = () => Math.floor(Date.now() / 60_000) * 60_000
    let minute = thisMinute()
    const record = (own: Partial<TrafficRecord>): TrafficRecord => ({
      ...({ workspace, span: 'minute', at: new Date(minute), latency: {}, numbers: [] } as const),
      counts: { accepted: 2, sent: 1, delivered: 0, read: 0, done: 0, failed: 0, dead: 0, unrouted: 0 },
      expiresAt: new Date(minute + HOUR_MS),
      _id: '',
      ...own,
    })
    const none = { accepted: 0, sent: 0, delivered: 0, read: 0, done: 0, failed: 0, dead: 0, unrouted: 0 }
    const uses = (channel: string, number: string, sends: number) => ({ channel, number, sends })
    const traffic = world.database.collection<TrafficRecord>('traffic')
    const ago = (minutes: number) => new Date(minute - minutes * 60_000)
    // Where a minute ends meanwhile, the uses of another one are read.
    const seen = await eventually(async () => {
      minute = thisMinute()
      await traffic.deleteMany({ workspace })
      await traffic.insertMany([
        record({ _id: 'a 1', latency: { 10: 1 } }),
        record({ _id: 'b 1', latency: { 10: 1, 60: 1 } }),
        record({ _id: 'a 2', at: ago(1), numbers: [uses('one', '71', 5), uses('two', '71', 6)] }),
        record({ _id: 'b 2', at: ago(1), numbers: [uses('one', '71', 30), uses('three', '72', 90)] }),
        record({ _id: 'a 3', at: ago(60) }),
        record({ _id: 'a 4', at: ago(2), counts: none, numbers: [uses('one', '71', 50)] }),
      ])
      const read = await readTraffic('', { workspace })
      return thisMinute() === minute && read
    })
    expect(seen).toMatchObject({ accepted: 8, sent: 4 })
    expect(seen.periods.map(({ at, accepted }) => [at, accepted])).toEqual([
      [ago(2).toISOString(), 0],
      [ago(1).toISOString(), 4],
      [ago(0).toISOString(), 4],
    ])
    expect(seen.latency).toEqual({ p50: percentile({ 10: 1 }, 1), p99: percentile({ 60: 1 }, 1) })
    expect(seen.numbers).toEqual([
      { number: '72', channels: ['three'], sends: 90, busiest: 90, limit: 4_380 },
      { number: '71', channels: ['one', 'two'], sends: 41, busiest: 50, limit: 4_380 },
    ])
    expect(await readTraffic('?last=day', { workspace })).toMatchObject({ accepted: 0, latency: null })
  })

  test('counts the sends of each number', async () => {
    const sends = await eventually(async () => {
      const records = await world.database
        .collection<TrafficRecord>('traffic')
        .find({ workspace: world.workspace, span: 'minute' })
        .toArray()
      const fine = records.flatMap(({ numbers }) => numbers).filter(({ channel }) => channel === 'fine')
      return fine.reduce((sum, one) => sum + one.sends, 0) === 3 ? fine : undefined
    })
    expect(new Set(sends.map(({ number }) => number))).toEqual(new Set(['701']))
  })

  test('shows what was accepted and is nowhere as the difference', async () => {
    const workspace = world.workspace + 3_000
    const lost = (n: number, emptyAt: Date): AuditedMessage => ({
      ...{ _id: `lost-${n}`, workspace, channel: 'fine', hour: new Date(), place: 'missing' },
      trace: { partition: 0, offset: n, acceptedAt: new Date(), emptyAt, published: 5 * (n % 2) },
    })
    await world.database
      .collection<AuditedMessage>('audited')
      .insertMany([lost(1, new Date()), lost(2, new Date(0)), { ...lost(4, new Date()) }])
    expect(await readTraffic('', { workspace })).toMatchObject({ difference: 2 })
  })

  test('shows nothing of another workspace, and takes no other question', async () => {
    const other = await readTraffic('', { workspace: world.workspace + 1_000 })
    expect(other).toMatchObject({ accepted: 0, periods: [], numbers: [], latency: null })
    for (const query of ['?last=month', '?from=2026-01-01', '?last[$ne]=x'])
      expect((await world.get(`/rest/messages/traffic${query}`)).status).toBe(422)
    expect((await world.call('POST', '/rest/messages/traffic')).status).toBe(405)
  })

  test('that can not be written is written later, whole', async () => {
    const traffic = world.database.collection<TrafficRecord>('traffic')
    let refused = 0
    const failing = {
      bulkWrite: async (...given: Parameters<typeof traffic.bulkWrite>) => {
        const result = await traffic.bulkWrite(...given)
        // Written, but nobody hears of it: it is written again.
        if (refused++ === 0) throw new Error('the connection was lost')
        return result
      },
    }
    const workspace = world.workspace + 4_000
    const recorder = createTraffic({
      collections: { traffic: failing as never },
      instance: 'alone',
      log: createLog({ service: 'test', level: 'silent' }),
    })
    const record = { workspace, timeline: [], receivedAt: new Date() }
    recorder.accepted(record)
    recorder.moved(record, { from: 'sending', to: 'sent', at: Date.now() })
    await eventually(() => refused > 0)
    recorder.accepted(record)
    await recorder.close()
    expect(await readTraffic('', { workspace })).toMatchObject({ accepted: 2, sent: 1 })
  })
})

describe('what waits', () => {
  const workspaceOf = (n: number) => world.workspace + 5_000 + n
  const stored = (workspace: number, n: number, own: Partial<MessageRecord> = {}) =>
    ({
      ...{ _id: `${workspace}-${n}`, workspace, partition: 1, thread: `t-${n}`, order: n, revision: 1 },
      ...{ channel: 'fine', source: 'api', state: 'received', open: true, tries: 0, body: '{}' },
      ...{ receivedAt: new Date(n * 1_000), updatedAt: new Date(n * 1_000) },
      ...{ sends: [], timeline: [], attempts: [] },
      ...own,
    }) as MessageRecord
  const put = (records: MessageRecord[]) =>
    world.database.collection<MessageRecord>('messages').insertMany(records)

  test('is counted, and grouped by what it waits for, the oldest first, without contents', async () => {
    const workspace = workspaceOf(1)
    const due = new Date(Date.now() + HOUR_MS)
    const body = '{"answer":{"message":"a secret"}}'
    await put([
      stored(workspace, 1, { due, waitingFor: 'retry', body }),
      stored(workspace, 2, { thread: 't-1' }),
      stored(workspace, 3, { due, waitingFor: 'rate', state: 'handled' }),
      stored(workspace, 4, { due, waitingFor: 'retry' }),
      stored(workspace, 5, { state: 'sent', open: undefined as never }),
    ])
    const { json } = await world.get('/rest/messages/waiting', { workspace })
    const oldest = (n: number, thread: string) =>
      expect.objectContaining({ _id: `${workspace}-${n}`, thread, channel: 'fine' })
    expect(json).toEqual({
      messages: 4,
      more: false,
      groups: [
        { for: 'retry', messages: 2, oldest: oldest(1, 't-1') },
        { for: 'thread', messages: 1, oldest: oldest(2, 't-1') },
        { for: 'rate', messages: 1, oldest: oldest(3, 't-3') },
      ],
    })
    expect(JSON.stringify(json)).not.toContain('secret')
  })

  test('is counted up to 10,000, and grouped up to 1,000', async () => {
    const workspace = workspaceOf(2)
    await put(Array.from({ length: 10_050 }, (_, n) => stored(workspace, n)))
    const { json } = await world.get('/rest/messages/waiting', { workspace })
    expect(json).toMatchObject({ messages: 10_000, more: true, groups: [{ for: 'turn', messages: 1_000 }] })
  })

  test('of another workspace is not there, and it takes no question', async () => {
    const none = await world.get('/rest/messages/waiting', { workspace: workspaceOf(3) })
    expect(none).toMatchObject({ status: 200, json: { messages: 0, more: false, groups: [] } })
    expect((await world.get('/rest/messages/waiting?state=dead')).status).toBe(422)
    expect((await world.call('POST', '/rest/messages/waiting')).status).toBe(405)
  })
})
