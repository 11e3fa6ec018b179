import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { slotKey } from '@parley/shared/messaging/layout'
import { connect } from 'amqplib'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let endpoint: Listening

beforeAll(async () => {
  world = await startDispatchWorld()
  endpoint = await listen((req, res) => {
    let text = ''
    req.on('data', (chunk: Buffer) => {
      text += chunk
    })
    req.on('end', () => void res.writeHead(text.includes('refuse') ? 410 : 200).end('{}'))
  })
  await world.putChannel(1, channelNamed('line'))
  await world.putChannel(2, channelNamed('other'))
})
afterAll(async () => {
  await endpoint.close()
  await world.close()
})

const channelNamed = (extId: string) => ({
  name: 'Support',
  description: '',
  extId,
  hook: 'whatsapp',
  callback: 'rpc',
  handlerUrl: 'native:agents/echo',
  config: { callbackUrl: `${endpoint.url}/callback` },
})
const text = (message: string, extId: string) => ({
  extId,
  user: {},
  thread: { extId: message },
  answer: { message },
})

async function publishUnreadable(messageId: string): Promise<void> {
  const connection = await connect(world.amqpUrl)
  const channel = await connection.createConfirmChannel()
  channel.publish('messages', slotKey(2), Buffer.from('{'), {
    messageId,
    type: 'message.received.v1',
    timestamp: Math.floor(Date.now() / 1_000),
    headers: { workspace: world.workspace, channel: 'line', thread: 't', source: 'api' },
  })
  await channel.waitForConfirms()
  await connection.close()
}

const counted = (query = '') =>
  eventually(async () => {
    const { json } = await world.get(`/rest/messages/conservation${query}`)
    const balance = json as Parsed
    return balance.accepted > 0 && balance.unaudited === 0 && balance.inFlight === 0 ? balance : undefined
  })

describe('the reconciliation', () => {
  test('accounts for every id once, in all, per channel and per hour', async () => {
    for (let n = 0; n < 10; n++) await world.post(`fine-${n}`, text(`fine ${n}`, 'line'))
    for (let n = 0; n < 3; n++) await world.post(`bad-${n}`, text(`refuse ${n}`, 'other'))
    await world.post('fine-3', text('fine 3', 'line'))
    await world.post('nothing', { ...text('', 'other'), answer: { submit: { ok: 1 } } })
    await publishUnreadable('unreadable')
    await eventually(async () => {
      const { json } = await world.get('/rest/messages/conservation')
      const { accepted, rejected, unaudited } = json as Parsed
      return accepted === 15 && rejected === 1 && unaudited === 0
    })
    const balance = await counted()
    const none = { sent: 0, read: 0, failed: 0, unrouted: 0, inFlight: 0, difference: 0, unaudited: 0 }
    const all = { ...none, accepted: 15, done: 1, delivered: 10, dead: 3, rejected: 1 }
    expect(balance).toMatchObject(all)
    expect(balance.channels).toEqual([
      { channel: 'line', ...none, accepted: 11, done: 0, delivered: 10, dead: 0, rejected: 1 },
      { channel: 'other', ...none, accepted: 4, done: 1, delivered: 0, dead: 3, rejected: 0 },
    ])
    const hours = balance.hours as Array<{ hour: string; accepted: number }>
    expect(hours.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(15)
    for (const { hour } of hours) expect(hour).toMatch(/^\d{4}-\d\d-\d\dT\d\d:00:00\.000Z$/)
    expect(balance.checkedSecondsAgo).toBeLessThan(30)
    expect(await counted('?channel=line')).toMatchObject({ accepted: 11, delivered: 10, rejected: 1 })
  })

  test('counts only the hours that the query asks for', async () => {
    const next = new Date(Date.now() + 60 * 60 * 1_000).toISOString()
    expect(await world.get(`/rest/messages/conservation?from=${next}`)).toMatchObject({
      status: 200,
      json: { accepted: 0, difference: 0, channels: [], hours: [] },
    })
    expect(await counted(`?to=${new Date(Date.now() + 2 * 60 * 60 * 1_000).toISOString()}`)).toMatchObject({
      accepted: 15,
    })
  })

  test('shows nothing of another workspace, and takes no other question', async () => {
    const other = await world.get('/rest/messages/conservation', { workspace: world.workspace + 1_000 })
    expect(other).toMatchObject({ status: 200, json: { accepted: 0, channels: [], hours: [] } })
    for (const query of ['?from=yesterday', '?thread=t', '?channel[$ne]=x'])
      expect((await world.get(`/rest/messages/conservation${query}`)).status).toBe(422)
    expect((await world.call('POST', '/rest/messages/conservation')).status).toBe(405)
  })
})
