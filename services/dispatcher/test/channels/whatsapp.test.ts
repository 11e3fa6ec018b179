import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator, type Simulator } from '@parley/local/simulator/app'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { TEST_LAYOUT } from '@parley/local/testing/test-layout'
import { STATUS_TYPE } from '@parley/shared/message-status'
import { partitionOfSlot, slotOf } from '@parley/shared/messaging/layout'
import { MESSAGES_EXCHANGE, statusKey } from '@parley/shared/messaging/topology'
import { type Channel, type ChannelModel, connect } from 'amqplib'
import type { MessageRecord } from '../../src/message/message-record.ts'
import { type DispatchWorld, type SeenMessage, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let simulator: Simulator
let provider: Listening
let broker: ChannelModel
let statuses: Channel
let channels = 0

beforeAll(async () => {
  simulator = await buildSimulator({})
  provider = await listen(simulator.app)
  world = await startDispatchWorld()
  broker = await connect(world.amqpUrl)
  statuses = await broker.createChannel()
})
afterAll(async () => {
  await broker.close()
  await world.close()
  await provider.close()
  await simulator.close()
})

/** A channel with a phone number of its own, which behaves as the test says. */
async function newLine({ accessToken = 'secret', ...behaviour }: Record<string, unknown> = {}) {
  const id = ++channels
  const number = `10${id}`
  const kinds = { hook: 'whatsapp', callback: 'whatsapp', handlerUrl: 'native:agents/echo' }
  const configure = (more: object) => {
    const config = { phoneNumberId: number, apiUrl: `${provider.url}/v23.0`, ...more }
    return world.putChannel(id, { name: '', description: '', extId: number, ...kinds, config })
  }
  await configure({ accessToken })
  await misbehave(number, behaviour)
  return {
    number,
    configure,
    text: (text: string, person = '5511900000000') => ({
      extId: number,
      user: { phone: `+${person}` },
      thread: { extId: `thread ${number} ${person}` },
      answer: { message: text },
    }),
    sends: async () => {
      const answer = await fetch(`${provider.url}/simulator/sends?phoneNumberId=${number}&limit=10000`)
      return (
        (await answer.json()) as { data: Array<{ at: string; to: string; text?: string; opaque: string }> }
      ).data
    },
  }
}

async function misbehave(phoneNumberId: string, behaviour: object): Promise<void> {
  const answer = await fetch(`${provider.url}/simulator/behaviour`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ phoneNumberId, ...behaviour }),
  })
  if (!answer.ok) throw new Error(await answer.text())
}

function reportStatus(opaque: string, status: string, change: object = {}): void {
  const body = {
    workspace: world.workspace,
    channel: 'line',
    providerId: 'wamid.told',
    opaque,
    status,
    at: new Date().toISOString(),
    recipient: null,
    ...change,
  }
  statuses.publish(MESSAGES_EXCHANGE, statusKey(0), Buffer.from(JSON.stringify(body)), { type: STATUS_TYPE })
}

async function seenWith(id: string, condition: (seen: SeenMessage) => boolean): Promise<SeenMessage> {
  return eventually(async () => {
    const { status, json } = await world.get(`/rest/messages/${id}`)
    return status === 200 && condition(json as SeenMessage) ? (json as SeenMessage) : undefined
  })
}

describe("the provider's statuses", () => {
  test('move a message forward only', async () => {
    const line = await newLine()
    await world.post('w-news', line.text('hi'))
    await world.message('w-news', 'sent')
    for (const status of ['read', 'delivered', 'sent', 'failed', 'read']) reportStatus('w-news:0', status)
    const seen = await world.message('w-news', 'read')
    reportStatus('w-news:0', 'delivered')
    await world.post('w-news-2', line.text('next'))
    await world.message('w-news-2', 'sent')
    expect((await world.message('w-news', 'read')).timeline).toEqual(seen.timeline)
    expect(seen.timeline.map(({ state }) => state)).toEqual([
      'received',
      'handled',
      'sending',
      'sent',
      'read',
    ])
  })

  test('of a failure say why', async () => {
    const line = await newLine()
    await world.post('w-failed', line.text('hi'))
    await world.message('w-failed', 'sent')
    reportStatus('w-failed:0', 'failed', { errors: [{ code: 131026 }] })
    const seen = await world.message('w-failed', 'failed')
    expect([seen.fault, seen.reason]).toEqual([
      'provider',
      'The provider says that it failed, with code 131026.',
    ])
  })

  test('from another workspace say nothing', async () => {
    const line = await newLine()
    await world.post('w-foreign', line.text('hi'))
    await world.message('w-foreign', 'sent')
    reportStatus('w-foreign:0', 'read', { workspace: world.workspace + 1 })
    reportStatus('w-foreign:0', 'delivered')
    // The news come in order: had the first been taken, the message would be read, which is never taken back.
    await world.message('w-foreign', 'delivered')
  })
})

describe('the one who is written to', () => {
  test('is named by the id that WhatsApp gave where there is no number', async () => {
    const line = await newLine()
    const id = 'US.90210000000000000042'
    await world.post('w-id', { ...line.text('hi'), user: { phone: id } })
    const seen = await world.message('w-id', 'sent')
    expect((await line.sends()).map(({ to }) => to)).toEqual([id])
    expect(seen).not.toHaveProperty('phone')
  })

  test.each(['order 4711', '5511988887777@s.whatsapp.net', '90210000000000000042', ''])(
    'is nobody where %j is given, and the message is dead',
    async (phone) => {
      const line = await newLine()
      const id = `w-nobody-${line.number}`
      await world.post(id, { ...line.text('hi'), user: { phone } })
      const { fault, attempts } = await world.message(id, 'dead')
      expect([fault, attempts.map(({ code }) => code)]).toEqual(['caller', ['no_address']])
      expect(await line.sends()).toEqual([])
    },
  )

  test('is the group where somebody wrote in one, also when the team replies', async () => {
    const line = await newLine()
    const group = 'Y2FwaV9ncm91cDoxMjM'
    const meta = { id: 'wamid.group', from: '5511900000000', group_id: group, type: 'text' }
    const user = { name: 'Ana', addresses: [`group:${group}`] }
    await world.post(
      'w-group',
      { extId: line.number, user, thread: { extId: group }, answer: {}, input: 'hello all', meta },
      { source: 'meta' },
    )
    expect((await world.message('w-group', 'sent', 'delivered')).thread).toBe(group)
    const path = `/rest/threads/${group}`
    await eventually(async () => (await world.get(path)).status === 200)
    const { json } = await world.call('POST', `${path}/messages`, { text: 'hello from the team' })
    await world.message((json as { _id: string })._id, 'sent', 'delivered')
    expect((await line.sends()).map(({ to, text }) => [to, text])).toEqual([
      [group, 'hello all'],
      [group, 'hello from the team'],
    ])
    const { user: shown } = (await world.get(path)).json as { user: object }
    expect(shown).toEqual({})
  })

  test('is nobody where an earlier version stored what was written in a group', async () => {
    const line = await newLine()
    const meta = { id: 'wamid.before', from: '5511900000000', group_id: 'Y2FwaV9ncm91cDoxMjM', type: 'text' }
    await world.post(
      'w-group-before',
      {
        ...{ extId: line.number, answer: {}, input: 'hello all', meta },
        ...{ user: { name: 'Ana', phone: meta.from }, thread: { extId: meta.from } },
      },
      { source: 'meta' },
    )
    expect((await world.message('w-group-before', 'done')).reason).toBe('group_message')
    expect(await line.sends()).toEqual([])
  })
})

describe('a text that is longer than WhatsApp takes', () => {
  test('is several sends, in order, of the answer of a caller as of that of a handler', async () => {
    const line = await newLine()
    const paragraphs = ['a', 'b'].map((letter) => letter.repeat(4_000))
    const long = paragraphs.join('\n\n')
    await world.post('w-long', line.text(long))
    await world.post('w-long-echo', { ...line.text(''), answer: {}, input: long })
    await world.message('w-long-echo', 'sent')
    const sends = await line.sends()
    expect(sends.map(({ opaque, text }) => [opaque, text])).toEqual([
      ['w-long:0', paragraphs[0]],
      ['w-long:1', paragraphs[1]],
      ['w-long-echo:0', paragraphs[0]],
      ['w-long-echo:1', paragraphs[1]],
    ])
  })
})

describe('a send that the provider refuses for good', () => {
  const template = (variables: string[]) => ({
    functions: [{ name: 'callback', args: { template: 'order_update', variables, language: 'pt_BR' } }],
  })

  test('for too few variables is dead by the fault of the caller, and the thread goes on', async () => {
    const line = await newLine()
    const message = line.text('')
    await world.post('w-few', { ...message, answer: template(['Ana']) })
    await world.post('w-enough', { ...message, answer: template(['Ana', '4711']) })
    const seen = await world.message('w-few', 'dead')
    expect([seen.fault, seen.reason, seen.attempts.length]).toEqual([
      'caller',
      'The provider refused it with code 132000.',
      1,
    ])
    await world.message('w-enough', 'sent')
  })

  test('for an expired access token is dead by the fault of the channel, and runs again with a new one', async () => {
    const line = await newLine({ accessToken: 'expired' })
    await world.post('w-expired', line.text('hi'))
    const seen = await world.message('w-expired', 'dead')
    expect([seen.fault, seen.reason, seen.attempts[0]?.code]).toEqual([
      'channel',
      'The provider refused it with code 190.',
      '190',
    ])
    await line.configure({ accessToken: 'renewed' })
    expect((await world.call('POST', '/rest/messages/w-expired/replay')).status).toBe(200)
    await world.message('w-expired', 'sent')
    expect((await line.sends()).map(({ text }) => text)).toEqual(['hi'])
  })
})

describe('what is said beside a text', () => {
  const call = (args: object) => ({ message: '', functions: [{ name: 'callback', args: { ...args } }] })
  const LINK = 'https://example.com/a.pdf'

  test('is sent as it was given: templates with all that they take, buttons, media', async () => {
    const line = await newLine({ strictTemplates: true })
    const button = {
      ...{ type: 'button', sub_type: 'url', index: '0' },
      parameters: [{ type: 'text', text: '123456' }],
    }
    const given = [
      { template: 'login_code', language: 'pt_BR', variables: ['123456'], components: [button] },
      {
        ...{ template: 'invoice', language: 'pt_BR', variables: ['Ana'] },
        header: { document: { link: LINK, filename: 'a.pdf' } },
      },
      { template: 'invoice_named', language: 'pt_BR', variables: { customer_name: 'Ana' } },
      { message: 'Which?', buttons: [{ id: 's', title: 'Small' }] },
      { message: 'Your invoice', document: { link: LINK, filename: 'a.pdf' } },
    ]
    for (const [n, args] of given.entries())
      await world.post(`w-rich-${n}`, { ...line.text(''), answer: call(args) })
    await world.message('w-rich-4', 'sent')
    const sends = (await line.sends()) as unknown as Record<string, unknown>[]
    expect(
      sends.map(({ template, variables, components, type, content }) => ({
        ...(template === undefined ? { type, content } : { template, variables, components }),
      })),
    ).toEqual([
      {
        ...{ template: 'login_code', variables: ['123456'] },
        components: [{ type: 'body', parameters: [{ type: 'text', text: '123456' }] }, button],
      },
      {
        ...{ template: 'invoice', variables: ['Ana'] },
        components: [
          { type: 'header', parameters: [{ type: 'document', document: { link: LINK, filename: 'a.pdf' } }] },
          { type: 'body', parameters: [{ type: 'text', text: 'Ana' }] },
        ],
      },
      {
        ...{ template: 'invoice_named', variables: ['Ana'] },
        components: [
          { type: 'body', parameters: [{ type: 'text', text: 'Ana', parameter_name: 'customer_name' }] },
        ],
      },
      {
        type: 'interactive',
        content: {
          type: 'button',
          body: { text: 'Which?' },
          action: { buttons: [{ type: 'reply', reply: { id: 's', title: 'Small' } }] },
        },
      },
      { type: 'document', content: { link: LINK, filename: 'a.pdf', caption: 'Your invoice' } },
    ])
  })

  test.each([
    [{ template: 't', language: 'en', colour: 'red' }, '/colour'],
    [{ template: 't', language: 'en', components: [{ type: 'foot' }] }, '/components/0/type'],
    [{ message: 'x', buttons: [{ title: 'x'.repeat(21) }] }, '/buttons/0/title'],
  ])(
    'is dead by the fault of its caller where it is not understood, with the place: %j',
    async (args, at) => {
      const line = await newLine()
      const id = `w-unknown-${line.number}`
      await world.post(id, { ...line.text(''), answer: { ...call(args), message: 'text' } })
      const { fault, reason } = await world.message(id, 'dead')
      expect([fault, reason?.startsWith(`/answer/functions/0/args${at}: `)]).toEqual(['caller', true])
      expect(await line.sends()).toEqual([])
    },
  )

  test('of a template waits for nobody, and the rest for the person, where the 24 hours are over', async () => {
    const line = await newLine({ customerWindow: true })
    await world.post('w-closed', {
      ...line.text(''),
      answer: call({ message: 'Which?', buttons: [{ title: 'a' }] }),
    })
    const args = { template: 'invoice_named', language: 'en', variables: { customer_name: 'Ana' } }
    await world.post('w-open', { ...line.text(''), answer: call(args) })
    expect((await world.message('w-closed', 'dead')).attempts.map(({ code }) => code)).toEqual(['131047'])
    await world.message('w-open', 'sent')
  })
})

describe('the rate of a number', () => {
  test('is what the provider says of it', async () => {
    const line = await newLine({ messagesPerSecond: 20 })
    await world.post('w-rate', line.text('first'))
    await world.message('w-rate', 'sent')
    const people = Array.from({ length: 30 }, (_, n) => `55119000${String(n).padStart(5, '0')}`)
    await Promise.all(people.map((person) => world.post(`w-rate-${person}`, line.text('hi', person))))
    for (const person of people) await world.message(`w-rate-${person}`, 'sent')
    const response = await fetch(`${provider.url}/simulator/summary?phoneNumberId=${line.number}`)
    expect(await response.json()).toMatchObject({ sends: 31, refused: {} })
  })
})

describe('a send whose answer never came', () => {
  test('is not sent again when a status says that it happened, and the thread goes on', async () => {
    const line = await newLine({ dropAnswerEvery: 1 })
    await world.post('w-dropped', line.text('once'))
    await world.post('w-behind', line.text('behind'))
    await seenWith('w-dropped', ({ attempts }) => attempts.some(({ outcome }) => outcome === 'uncertain'))
    await misbehave(line.number, {})
    reportStatus('w-dropped:0', 'sent')
    await world.message('w-dropped', 'sent')
    await world.message('w-behind', 'sent')
    expect((await line.sends()).map(({ text }) => text)).toEqual(['once', 'behind'])
  })

  test('is sent again after a window of silence', async () => {
    const line = await newLine({ dropAnswerEvery: 1 })
    await world.post('w-silent', line.text('twice'))
    await seenWith('w-silent', ({ attempts }) => attempts.length === 1)
    await misbehave(line.number, {})
    const seen = await world.message('w-silent', 'sent')
    expect(seen.attempts.map(({ outcome }) => outcome)).toEqual(['uncertain', 'accepted'])
    expect(new Set((await line.sends()).map(({ opaque }) => opaque))).toEqual(new Set(['w-silent:0']))
  })

  test('is not sent again while statuses could not reach us', async () => {
    const line = await newLine({ dropAnswerEvery: 1 })
    world.statusPath.open = false
    await world.post('w-deaf', line.text('once'))
    await seenWith('w-deaf', ({ attempts }) => attempts.length === 1)
    await misbehave(line.number, {})
    // Three windows of a second each: another line's message, sent after each, says that time has gone by.
    const other = await newLine({ stallMs: 1_000 })
    for (let n = 0; n < 3; n++) {
      await world.post(`w-clock-${n}`, other.text('tick'))
      await world.message(`w-clock-${n}`, 'sent')
    }
    expect(await line.sends()).toHaveLength(1)
    reportStatus('w-deaf:0', 'delivered')
    await world.message('w-deaf', 'delivered')
    world.statusPath.open = true
    expect(await line.sends()).toHaveLength(1)
  })

  test('nor one whose process is gone: it is uncertain too', async () => {
    const line = await newLine()
    await world.post('w-model', line.text('model'))
    await world.message('w-model', 'sent')
    const messages = world.database.collection<MessageRecord>('messages')
    const model = await messages.findOne({ _id: 'w-model' })
    if (model === null) throw new Error('no model')
    // Somebody claimed the send of each partition's message and was killed before it heard of the outcome.
    const claimed = Array.from({ length: 8 }, (_, partition): MessageRecord => {
      const { expiresAt: _expiresAt, ...rest } = model
      const sends = [
        {
          id: `w-gone-${partition}:0`,
          state: 'claimed' as const,
          content: { kind: 'text' as const, text: `gone ${partition}` },
        },
      ]
      const place = { partition, thread: `gone ${partition}`, order: 1, revision: 2 }
      return {
        ...rest,
        ...place,
        _id: `w-gone-${partition}`,
        state: 'sending',
        open: true,
        sends,
        attempts: [],
      }
    })
    await messages.insertMany(claimed)
    const second = await world.startDispatcher()
    const partitions = world.database.collection<{ _id: number; owner: string | null }>('partitions')
    const taken = await eventually(async () => {
      const owners = Map.groupBy(await partitions.find().toArray(), ({ owner }) => owner)
      return owners.size === 2 && ![...owners.values()].some(({ length }) => length !== 4)
        ? owners
        : undefined
    })
    expect(taken.size).toBe(2)
    const resent = await eventually(async () => {
      const done = await messages.find({ _id: /^w-gone/, state: 'sent' }).toArray()
      return done.length >= 4 ? done : undefined
    })
    for (const { attempts } of resent) {
      expect(attempts.map(({ outcome, code }) => code ?? outcome)).toEqual(['interrupted', 'accepted'])
    }
    await second.close()
  })
})

describe('a number', () => {
  test('is limited to 80 a second, all persons together', async () => {
    const line = await newLine()
    const people = Array.from({ length: 240 }, (_, n) => `w-rate-${n}`)
    await Promise.all(people.map((id, n) => world.post(id, line.text('hi', `5511${900_000_000 + n}`))))
    const sends = await eventually(async () => {
      const all = await line.sends()
      return all.length === people.length ? all : undefined
    })
    const times = sends.map(({ at }) => Date.parse(at)).sort((a, b) => a - b)
    const busiest = Math.max(
      ...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length),
    )
    expect(busiest).toBeLessThanOrEqual(80)
  })

  test('stays in the partition of its thread', async () => {
    const line = await newLine()
    await world.post('w-partition', line.text('hi'))
    await world.message('w-partition', 'sent')
    const stored = await world.database.collection<MessageRecord>('messages').findOne({ _id: 'w-partition' })
    expect(stored?.partition).toBe(
      partitionOfSlot(slotOf(world.workspace, stored?.thread ?? ''), TEST_LAYOUT),
    )
  })
})
