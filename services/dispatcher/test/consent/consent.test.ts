import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { CONSENT_TYPE, type PublishedConsent, type SeenPerson } from '@parley/shared/consent'
import { noticePublication, statusPublication } from '@parley/shared/messaging/message-publication'
import { PEOPLE_QUEUE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import type { TemplateRecord } from '../../src/store/template-record.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let provider: Listening
let answer: { status: number; json: object }
const left: { to?: string; recipient?: string; type: string; biz_opaque_callback_data: string }[] = []
const published: PublishedConsent[] = []
const seen: SeenPerson[] = []
let connection: Awaited<ReturnType<typeof connect>>
let people = 0

beforeAll(async () => {
  provider = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      // It is also asked for the number's rate.
      if (req.method === 'POST') left.push(JSON.parse(Buffer.concat(chunks).toString()))
      const { status, json } = answer
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    })
  })
  world = await startDispatchWorld()
  await world.putChannel(1, {
    ...{ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo' },
    config: { phoneNumberId: '1', accessToken: 't', apiUrl: `${provider.url}/v23.0` },
  })
  connection = await connect(world.amqpUrl)
  const channel = await connection.createChannel()
  await channel.consume(PEOPLE_QUEUE, (delivery) => {
    if (delivery === null) return
    const body = JSON.parse(delivery.content.toString())
    if (delivery.properties.type === CONSENT_TYPE) published.push(body)
    else seen.push(...body.people)
    channel.ack(delivery)
  })
  accept()
})

afterAll(async () => {
  await connection.close()
  await world.close()
  await provider.close()
})

const accept = () => {
  answer = { status: 200, json: { messages: [{ id: `wamid.${left.length}` }] } }
}
/** Somebody whom nobody has written to yet. */
function somebody() {
  const number = ++people
  return {
    phone: `49309018${String(number).padStart(4, '0')}`,
    userId: `DE.${number}a`,
    thread: `thread-${number}`,
  }
}
type Person = ReturnType<typeof somebody>

let messages = 0
async function say(
  person: Person,
  input: string,
  meta: object = { type: 'text' },
  { name, left }: { name?: string; left?: string[] } = {},
) {
  const id = `said-${++messages}`
  await world.post(
    id,
    {
      ...{ extId: 'line', thread: { extId: person.thread }, answer: {}, input },
      user: { phone: person.phone, addresses: [`whatsapp:${person.userId}`], ...(name && { name }) },
      meta: { id, from: person.phone, ...meta },
    } as never,
    { source: 'meta', ...(left && { left }) },
  )
  await world.message(id, 'sent', 'dead', 'done')
}

/** Posts a template, and says what became of it. */
async function offer(
  user: { phone: string; addresses?: string[] },
  { thread = `offer-${messages}`, extId = 'line', template = 'offer' } = {},
) {
  const id = `offer-${++messages}`
  const args = { template, language: 'en', variables: [] }
  const functions = [{ name: 'callback', args }]
  await world.post(id, { extId, user, thread: { extId: thread }, answer: { functions } })
  const { state, fault, attempts } = await world.message(id, 'sent', 'dead')
  return { state, fault, code: attempts.at(-1)?.code }
}

const OPTED_OUT = { state: 'dead', fault: 'recipient', code: 'opted_out' }
const SENT = { state: 'sent', fault: undefined, code: undefined }

test('who says stop gets no template any more, by whatever address and in whatever thread, but an answer, and templates again once they say start', async () => {
  const person = somebody()
  expect(await offer({ phone: person.phone })).toEqual(SENT)
  await say(person, 'stop sending me the wrong size')
  expect(await offer({ phone: person.phone })).toEqual(SENT)
  await say(person, ' STOP. ')
  const before = left.length
  expect(await offer({ phone: `+${person.phone}` })).toEqual(OPTED_OUT)
  expect(await offer({ phone: person.userId })).toEqual(OPTED_OUT)
  expect(await offer({ phone: '4930111', addresses: [`whatsapp:${person.userId}`] })).toEqual(OPTED_OUT)
  expect(left.length).toBe(before)
  await say(person, 'Thank you')
  expect(left.length).toBe(before + 1)
  expect(await offer({ phone: somebody().phone })).toEqual(SENT)
  await say(person, 'start')
  expect(await offer({ phone: person.phone })).toEqual(SENT)
})

test('a template whose category is known is stopped by what the person has withdrawn, and by nothing else', async () => {
  await world.putChannel(2, {
    ...{ name: 'Account', description: '', extId: 'account', hook: 'whatsapp', callback: 'whatsapp' },
    ...{ handlerUrl: 'native:agents/echo' },
    config: { phoneNumberId: '2', accessToken: 't', businessAccountId: '9', apiUrl: `${provider.url}/v23.0` },
  })
  const { workspace } = world
  for (const [name, category] of [
    ['sale', 'MARKETING'],
    ['order_left', 'UTILITY'],
    ['login_code', 'AUTHENTICATION'],
    ['later', 'A_NEW_ONE'],
  ]) {
    const definition = { name, language: 'en', status: 'APPROVED', category, components: [] }
    await world.database.collection<TemplateRecord>('templates').insertOne({
      ...{ _id: `${workspace}/9/${name}`, workspace, definitions: JSON.stringify([definition]) },
      ...{ at: new Date(), storedAt: new Date() },
    })
  }
  const person = somebody()
  await say(person, 'stop')
  const state = async (template: string) => {
    const { state } = await offer({ phone: person.phone }, { extId: 'account', template })
    return state
  }
  expect(await state('sale')).toBe('dead')
  expect(await state('later')).toBe('dead')
  expect(await state('order_left')).toBe('sent')
  expect(await state('login_code')).toBe('sent')
})

test('an object of the provider’s own that is a template does not reach them either', async () => {
  const person = somebody()
  await say(person, 'parar')
  const id = `object-${++messages}`
  const args = { template: 'offer', language: 'en', header: 'Hello' }
  const functions = [{ name: 'callback', args }]
  await world.post(id, { extId: 'line', user: { phone: person.phone }, thread: {}, answer: { functions } })
  expect(await world.message(id, 'sent', 'dead')).toMatchObject({ state: 'dead', fault: 'recipient' })
})

test('a template’s button that opts out does, by its payload or the words on it', async () => {
  const [one, other] = [somebody(), somebody()]
  await say(one, 'No, thanks', { type: 'button', button: { text: 'No, thanks', payload: 'opt_out' } })
  await say(other, 'Stop promotions', { type: 'button', button: { text: 'Stop promotions', payload: 'x' } })
  expect(await offer({ phone: one.phone })).toEqual(OPTED_OUT)
  expect(await offer({ phone: other.phone })).toEqual(OPTED_OUT)
})

test('in a group nobody opts out, and neither does what was written before the channel was connected', async () => {
  const person = somebody()
  const group = { ...person, thread: 'group-1' }
  await say(group, 'stop', { type: 'text', group_id: 'group-1' })
  await say(person, 'stop', { type: 'text', webhook_field: 'history' })
  expect(await offer({ phone: person.phone })).toEqual(SENT)
})

test('the words are those of the workspace, from when they are changed', async () => {
  const person = somebody()
  await world.put('configs', 9, {
    ...{ name: 'consent', owner: world.workspace, ownerType: 'workspace' },
    value: { optOut: { de: ['Genug'] } },
  })
  await world.replicated('configs', 9)
  await say(person, 'abmelden')
  expect(await offer({ phone: person.phone })).toEqual(SENT)
  await say(person, 'genug!')
  expect(await offer({ phone: person.phone })).toEqual(OPTED_OUT)
})

const provenance = () => ({
  workspace: world.workspace,
  source: 'meta',
  channelId: 1,
  requestId: 'r',
  traceparent: undefined,
})

test('what people choose in WhatsApp itself counts for all of their addresses, in the order in which they chose it', async () => {
  const person = somebody()
  await say(person, 'Hello')
  await eventually(async () => {
    const known = { addresses: { $all: [`phone:${person.phone}`, `whatsapp:${person.userId}`] } }
    return (await world.database.collection('threads').countDocuments(known)) > 0
  })
  const chosen = (value: string, timestamp: number) => {
    const preference = { wa_id: person.phone, category: 'marketing_messages', value, timestamp }
    const notice = {
      ...{ workspace: world.workspace, channel: 'line', field: 'user_preferences', at: null, text: '' },
      value: { contacts: [{ wa_id: person.phone }], user_preferences: [preference] },
    }
    return world.publisher.publish(
      noticePublication({ messageId: `notice-${value}-${timestamp}`, notice, provenance: provenance() }),
    )
  }
  const now = Math.floor(Date.now() / 1_000)
  await chosen('stop', now - 10)
  await eventually(async () => (await offer({ phone: person.userId })).code === 'opted_out')
  await chosen('resume', now - 5)
  await chosen('stop', now - 7)
  await eventually(
    async () =>
      (await world.database
        .collection<{ _id: string }>('notices')
        .findOne({ _id: `notice-stop-${now - 7}` })) !== null,
  )
  expect(await offer({ phone: person.userId })).toEqual(SENT)
})

test('whom the provider refuses because they stopped marketing is not tried again, whether it says so at once or later', async () => {
  const [one, other] = [somebody(), somebody()]
  answer = { status: 400, json: { error: { code: 131050, message: 'stopped' } } }
  expect(await offer({ phone: one.phone })).toEqual({ state: 'dead', fault: 'recipient', code: '131050' })
  accept()
  expect(await offer({ phone: one.phone })).toEqual(OPTED_OUT)
  expect(await offer({ phone: other.phone })).toEqual(SENT)
  const { biz_opaque_callback_data: opaque } = left.at(-1) ?? { biz_opaque_callback_data: '' }
  const status = {
    ...{ workspace: world.workspace, channel: 'line', providerId: `wamid.${left.length - 1}`, opaque },
    ...{ status: 'failed', at: new Date().toISOString(), recipient: other.phone, errors: [{ code: 131050 }] },
  }
  await world.publisher.publish(
    statusPublication({ messageId: `status-${opaque}`, status: status as never, provenance: provenance() }),
  )
  await eventually(async () => (await offer({ phone: other.phone })).code === 'opted_out')
})

test('each change of consent is published with its words and all addresses of the person', async () => {
  const person = somebody()
  await say(person, 'Unsubscribe')
  const reported = await eventually(async () =>
    published.find(({ addresses }) => addresses.includes(`phone:${person.phone}`)),
  )
  expect(reported).toMatchObject({
    ...{ workspace: world.workspace, purpose: 'marketing', status: 'withdrawn', source: 'message' },
    ...{ text: 'Unsubscribe', addresses: [`phone:${person.phone}`, `whatsapp:${person.userId}`] },
  })
  await eventually(async () => (await world.database.collection('unpublishedConsent').countDocuments()) === 0)
})

test('a person is reported when they first write, and once more when their name is another one', async () => {
  const person = somebody()
  const reported = () => seen.filter(({ addresses }) => addresses.includes(`whatsapp:${person.userId}`))
  await say(person, 'Hello')
  await eventually(async () => reported().length > 0)
  await say(person, 'Are you there?')
  await say(somebody(), 'Hello')
  const last = `whatsapp:DE.${people}a`
  await eventually(async () => seen.some(({ addresses }) => addresses.includes(last)))
  expect(reported()).toMatchObject([{ workspace: world.workspace, lastContactAt: expect.any(String) }])
  await say(person, 'It is me', { type: 'text' }, { name: 'Ana' })
  await eventually(async () => reported().at(-1)?.name === 'Ana')
})

test('what one address of a person opted out of counts for another one as soon as it is known to be theirs', async () => {
  const [known, later] = [somebody(), somebody()]
  await say({ ...known, phone: known.userId }, 'stop')
  expect(await offer({ phone: later.phone })).toEqual(SENT)
  await say({ ...known, phone: later.phone }, 'Hello again')
  await eventually(async () => (await offer({ phone: later.phone })).code === 'opted_out')
})

test('who opted out and has another number since gets nothing there either, and is reported without the old one', async () => {
  const person = somebody()
  const now = somebody().phone
  await say(person, 'stop')
  const left = [`phone:${person.phone}`]
  const system = { type: 'user_changed_number', body: 'Ana changed', wa_id: now }
  await say({ ...person, phone: now }, '', { type: 'system', system }, { left })
  expect(await offer({ phone: now })).toEqual(OPTED_OUT)
  const moved = await eventually(async () => seen.find((one) => one.left !== undefined))
  expect(moved).toMatchObject({ addresses: [`phone:${now}`, `whatsapp:${person.userId}`], left })
})
