import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator, type Simulator } from '@parley/local/simulator/app'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { type EventReceiver, startEventReceiver } from '../lab/system/receivers.ts'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'
import { messagesChange, payloadWith } from './corpus.ts'

const SECRET = 'app secret'

interface Message {
  _id: string
  state: string
  fault?: string
  reason?: string
  sends: {
    state: string
    providerId?: string
    failure?: { code: string }
    retryAt?: string
    pricing?: object
  }[]
  attempts: { step: string; outcome: string; code?: string; error?: string }[]
}
interface Page {
  data: { _id: string; field: string; text: string; value: unknown }[]
  next: string | null
}

let parley: Parley
let simulator: Simulator
let provider: Listening
let receiver: EventReceiver
let ours: Workspace
let theirs: Workspace
let number = 0

beforeAll(async () => {
  simulator = await buildSimulator({})
  provider = await listen(simulator.app)
  parley = await startParley({ environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' } } })
  ours = await registerWorkspace(parley.url, 'envelope')
  theirs = await registerWorkspace(parley.url, 'stranger')
  await putLine(ours, 1, '901')
  await putLine(ours, 2, '903')
  await putLine(theirs, 1, '905')
  receiver = await startEventReceiver()
  const subscription = { name: 'test', url: `${receiver.url}/events`, events: ['channel.notice'] }
  const { signingSecret } = (await ours.call('POST', '/rest/subscriptions', subscription)) as Record<
    string,
    string
  >
  receiver.secret = signingSecret ?? ''
})
afterAll(async () => {
  await parley.close()
  await receiver.close()
  await provider.close()
  await simulator.close()
})

function putLine(workspace: Workspace, id: number, phoneNumberId: string) {
  const extId = `line-${phoneNumberId}`
  const kinds = { hook: 'whatsapp', callback: 'whatsapp', handlerUrl: 'native:agents/echo' }
  const config = { phoneNumberId, accessToken: 'x', appSecret: SECRET, apiUrl: `${provider.url}/v23.0` }
  return workspace.call('PUT', `/rest/channels/${id}`, {
    name: extId,
    description: '',
    extId,
    ...kinds,
    config,
  })
}

/** Posts what Meta would to the line's address, and returns the counts. */
async function report(payload: object | string, { line = 'line-901', workspace = ours } = {}) {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  const response = await fetch(workspace.providerUrl(line), { method: 'POST', headers, body })
  return (await response.json()) as Record<string, number>
}

const statusOf = (id: string | undefined, status: string, change: object = {}) => ({
  ...{ id, status, timestamp: String(Math.floor(Date.now() / 1_000)), recipient_id: '491701234567' },
  ...change,
})
const failed = (id: string | undefined, code: number) =>
  statusOf(id, 'failed', { errors: [{ code, title: 'Not sent', error_data: { details: 'because' } }] })
const reportStatuses = (...statuses: object[]) => report(payloadWith(messagesChange({ statuses })))

/** A message that the provider has taken, and its id there. */
async function send(extId = 'line-901', workspace = ours) {
  const key = `m${++number}`
  const message = {
    extId,
    user: { phone: '+491701234567' },
    thread: { extId: key },
    answer: { message: 'hi' },
  }
  const response = await workspace.postMessage(message, key)
  const id = response.headers.get('x-message-id') ?? ''
  await response.json()
  const sent = await until(id, ({ state }) => state === 'sent', workspace)
  return { id, providerId: sent.sends[0]?.providerId }
}

function until(id: string, holds: (message: Message) => boolean, workspace = ours): Promise<Message> {
  return eventually(async () => {
    const response = await workspace.request('GET', `/rest/messages/${id}`)
    const message = (await response.json()) as Message
    return response.status === 200 && holds(message) ? message : undefined
  })
}

async function sendsOf(phoneNumberId: string) {
  const response = await fetch(`${provider.url}/simulator/sends?phoneNumberId=${phoneNumberId}&limit=1000`)
  const { data } = (await response.json()) as { data: { id: string; text?: string; opaque: string }[] }
  return data
}

describe('a message', () => {
  test('to another number of the business is answered from that number, and never from this one', async () => {
    const before = (await sendsOf('901')).length
    const text = { type: 'text', text: { body: 'for the other number' } }
    const messages = [{ id: 'wamid.for-903', from: '491701234567', timestamp: '1760000000', ...text }]
    expect(await report(payloadWith(messagesChange({ messages }, '903')))).toMatchObject({ accepted: 1 })
    await eventually(async () => (await sendsOf('903')).some((one) => one.text === 'for the other number'))
    expect(await report(payloadWith(messagesChange({ messages }, '999')))).toMatchObject({ foreign: 1 })
    expect(await sendsOf('901')).toHaveLength(before)
  })
})

describe('a status without our own id', () => {
  test('of a failure is found by the provider’s, and says why and whose fault it is', async () => {
    const { id, providerId } = await send()
    await reportStatuses(failed(providerId, 131026))
    const message = await until(id, ({ state }) => state === 'failed')
    expect(message).toMatchObject({
      fault: 'caller',
      reason: 'The provider says that it failed, with code 131026.',
      sends: [{ state: 'failed', failure: { code: '131026' } }],
    })
    expect(message.attempts.at(-1)).toMatchObject({
      outcome: 'permanent',
      code: '131026',
      error: 'Not sent: because',
    })
  })

  test.each([130472, 131050])('of what the person does not want is theirs: %s', async (code) => {
    const { id, providerId } = await send()
    await reportStatuses(failed(providerId, code))
    expect((await until(id, ({ state }) => state === 'failed')).fault).toBe('recipient')
  })

  test('moves its message on; what was listened to was read', async () => {
    const { id, providerId } = await send()
    await reportStatuses(statusOf(providerId, 'delivered'))
    await until(id, ({ state }) => state === 'delivered')
    await reportStatuses(statusOf(providerId, 'played'))
    await until(id, ({ state }) => state === 'read')
  })

  test('that comes before its send’s id is stored is applied then', async () => {
    const { id, providerId } = await send()
    const messages = parley.database('dispatcher').collection<{ _id: string }>('messages')
    await messages.updateOne({ _id: id }, { $set: { 'sends.0.providerId': 'wamid.not yet' } })
    await reportStatuses(statusOf(providerId, 'read'))
    const early = parley.database('dispatcher').collection('earlyStatuses')
    await eventually(async () => (await early.countDocuments({})) > 0)
    await messages.updateOne({ _id: id }, { $set: { 'sends.0.providerId': providerId } })
    await until(id, ({ state }) => state === 'read')
    await eventually(async () => (await early.countDocuments({})) === 0)
  })

  test('of another workspace, or of a channel with another number, touches nothing', async () => {
    const { id, providerId } = await send()
    const foreign = payloadWith(messagesChange({ statuses: [failed(providerId, 131026)] }, '905'))
    expect(await report(foreign, { line: 'line-905', workspace: theirs })).toMatchObject({ accepted: 1 })
    const other = payloadWith(messagesChange({ statuses: [failed(providerId, 131026)] }, '903'))
    expect(await report(other)).toMatchObject({ accepted: 1 })
    // Both wait for a send of theirs, and find none.
    const early = parley.database('dispatcher').collection('earlyStatuses')
    await eventually(async () => (await early.countDocuments({ tries: { $gte: 1 } })) === 2)
    expect((await until(id, () => true)).state).toBe('sent')
  })
})

describe('what fails later and may work when it is tried again', () => {
  test('is sent once more, however often that is reported, and is as any other then', async () => {
    const { id, providerId } = await send()
    const before = (await sendsOf('901')).length
    await reportStatuses(failed(providerId, 131000))
    await reportStatuses(failed(providerId, 131000), statusOf(providerId, 'sent'))
    const again = await until(
      id,
      ({ sends }) => sends[0]?.state === 'sent' && sends[0].providerId !== providerId,
    )
    expect(again.state).toBe('sent')
    await report(payloadWith(messagesChange({ statuses: [failed(providerId, 131000)] })))
    await reportStatuses(statusOf(again.sends[0]?.providerId, 'delivered'))
    const message = await until(id, ({ state }) => state === 'delivered')
    expect(message.sends[0]).not.toHaveProperty('failure')
    expect(message.attempts.map(({ outcome, code }) => code ?? outcome)).toEqual([
      'accepted',
      '131000',
      'accepted',
    ])
    expect(await sendsOf('901')).toHaveLength(before + 1)
  })

  test('waits as long as its code says', async () => {
    const { id, providerId } = await send()
    await reportStatuses(failed(providerId, 131049))
    const message = (await until(id, (one) => 'due' in one)) as Message & { due: string; waitingFor: string }
    expect(message.waitingFor).toBe('retry')
    expect(Date.parse(message.due) - Date.now()).toBeGreaterThan(23 * 60 * 60_000)
  })
})

describe('what a message costs', () => {
  test('is with its send, and added up once, whichever statuses say it', async () => {
    const { id, providerId } = await send()
    const priced = { pricing: { billable: true, pricing_model: 'PMP', category: 'utility', type: 'regular' } }
    await reportStatuses(statusOf(providerId, 'sent', priced))
    await reportStatuses(statusOf(providerId, 'delivered', priced), statusOf(providerId, 'read', priced))
    const message = await until(id, ({ state }) => state === 'read')
    expect(message.sends[0]?.pricing).toEqual({
      ...{ category: 'utility', type: 'regular', model: 'PMP', billable: true },
    })
    const usage = (await ours.call('GET', '/rest/usage?by=pricing')) as { data: object[] }
    expect(usage.data).toEqual([
      expect.objectContaining({ category: 'utility', type: 'regular', model: 'PMP', messages: 1 }),
    ])
    const byDay = (await ours.call('GET', '/rest/usage?by=day')) as { data: object[] }
    expect(byDay.data).toEqual([])
  })
})

describe('what happens to a channel', () => {
  const changeOf = (event: string) => ({
    field: 'phone_number_quality_update',
    value: { display_phone_number: '15550001111', event, current_limit: 'TIER_1K' },
  })
  const notices = async (workspace: Workspace, query = '', id = 1) => {
    const response = await workspace.request('GET', `/rest/channels/${id}/notices${query}`)
    return { status: response.status, page: (await response.json()) as Page }
  }

  test('is listed once, newest first, page by page, and posted to who subscribes to it', async () => {
    const events = ['FLAGGED', 'DOWNGRADE', 'UPGRADE']
    for (const event of events) expect(await report(payloadWith(changeOf(event)))).toMatchObject({ kept: 1 })
    expect(await report(payloadWith(changeOf('UPGRADE')))).toMatchObject({ kept: 0, repeated: 1 })
    const all = await eventually(async () => {
      const { page } = await notices(ours)
      return page.data.length === events.length ? page.data : undefined
    })
    expect(all.map(({ text }) => text.split(', ')[1])).toEqual([
      'event: UPGRADE',
      'event: DOWNGRADE',
      'event: FLAGGED',
    ])
    const first = await notices(ours, '?limit=2')
    const second = await notices(ours, `?limit=2&after=${first.page.next}`)
    expect([...first.page.data, ...second.page.data]).toEqual(all)
    expect(second.page.next).toBeNull()
    const posted = await eventually(() => {
      const found = receiver.events.filter(({ type }) => type === 'channel.notice')
      return found.length === events.length ? found : undefined
    })
    expect(posted.map(({ data }) => data._id).sort()).toEqual(all.map(({ _id }) => _id).sort())
  })

  test('has the numbers of its provider as they are', async () => {
    const body = JSON.stringify(payloadWith({ field: 'message_template_status_update', value: { id: 1 } }))
    const number = '12345678901234567891'
    expect(await report(body.replace('"id":1}', `"id":${number}}`))).toMatchObject({ kept: 1 })
    await eventually(async () => {
      const response = await ours.request('GET', '/rest/channels/1/notices?limit=1')
      const text = await response.text()
      return text.includes(`"value":{"id":${number}}`) && text.includes(`"text":"id: ${number}"`)
    })
    await eventually(() => receiver.events.some(({ data }) => data.text === `id: ${number}`))
  })

  test('is for those who may read the channel', async () => {
    expect((await notices(theirs, '', 2)).status).toBe(404)
    expect((await notices(theirs)).page.data).toEqual([])
    expect((await notices(ours, '', 99)).status).toBe(404)
    expect((await notices(ours, '?after=x')).status).toBe(422)
  })
})
