import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { testServers } from '@parley/local/testing/test-servers'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import type { mongo } from 'mongoose'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'

const APP_SECRET = 'app secret'
const LINE = 'erasing-line'
const SERVICES = ['identity', 'configuration', 'webhook', 'dispatcher', 'campaigns'] as const
/** Each has a word that is in all that they write and get. */
const CANARY = {
  phone: '4915550123456',
  id: 'DE.Kanarienvogel4711',
  name: 'Kanarienvogel',
  word: 'wachtelkoenig',
}
const OTHER = { phone: '4915550999999', id: 'DE.Spatz', name: 'Spatz', word: 'rohrdommel' }
const TRACES = Object.values(CANARY)

/** Under which the canary is in the records of others. */
const ids: string[] = []

let parley: Parley
let graph: Listening
let workspace: Workspace

beforeAll(async () => {
  graph = await listen((req, res) => {
    req.on('data', () => {})
    req.on('end', () => {
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ messages: [{ id: `wamid.${randomUUID()}` }] }))
    })
  })
  parley = await startParley({
    services: [...SERVICES, 'gateway'],
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128' } },
  })
  workspace = await registerWorkspace(parley.url, 'erasing')
  await workspace.call('PUT', '/rest/channels/1', {
    ...{ name: LINE, description: '', extId: LINE, hook: 'whatsapp', callback: 'whatsapp' },
    handlerUrl: 'native:agents/echo',
    config: { phoneNumberId: '901', accessToken: 'secret', appSecret: APP_SECRET, apiUrl: graph.url },
  })
  await workspace.call('PUT', '/rest/workflows/1', {
    name: 'Order',
    description: '',
    steps: [1],
    firstStep: 1,
  })
  await workspace.call('PUT', '/rest/subscriptions/1', {
    ...{ name: 'All', url: graph.url },
    events: ['message.received', 'message.delivered', 'channel.notice', 'person.consent_changed'],
  })
})

afterAll(async () => {
  await parley.close()
  await graph.close()
})

async function receive(field: string, value: object): Promise<void> {
  const metadata = { display_phone_number: '15550001111', phone_number_id: '901' }
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field, value: { messaging_product: 'whatsapp', metadata, ...value } }] }],
  })
  const signature = createHmac('sha256', APP_SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  const response = await fetch(workspace.providerUrl(LINE), { method: 'POST', headers, body })
  expect(response.status).toBe(200)
}

type Named = typeof CANARY
const seconds = () => Math.floor(Date.now() / 1_000)

function write(who: Named, text: string): Promise<void> {
  const contacts = [{ profile: { name: who.name }, wa_id: who.phone, user_id: who.id }]
  const stamp = { id: `wamid.${randomUUID()}`, timestamp: String(seconds()) }
  const from = { from: who.phone, from_user_id: who.id }
  return receive('messages', {
    contacts,
    messages: [{ ...from, ...stamp, type: 'text', text: { body: text } }],
  })
}

const postMessage = (user: object, message: object): Promise<Response> =>
  workspace.postMessage({ extId: LINE, thread: {}, user, ...message }, randomUUID())
const offer = (who: Named) =>
  postMessage(
    { phone: who.phone },
    {
      thread: { extId: `offer-${randomUUID()}` },
      answer: {
        functions: [{ name: 'callback', args: { template: 'offer', language: 'en', variables: [who.word] } }],
      },
    },
  )

/** A file with a row of a person, and with rows that are refused and have something of them. */
async function importFile(who: Named): Promise<void> {
  const rows = [
    'phone,name,language,tags,consent,consentText,timeZone',
    `+${who.phone},${who.name},de,${who.word},granted,${who.word},Europe/Berlin`,
    `${who.name},${who.phone},${who.word},${who.id},${who.word},${who.word},${who.name}`,
    `+${who.phone},"${who.name},${who.word}`,
  ]
  const response = await fetch(new URL(`/rest/people/imports?tag=shop`, parley.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${workspace.token}`, 'content-type': 'text/csv' },
    body: rows.join('\n'),
  })
  expect(await response.json()).toMatchObject({ counts: { rows: 3, refused: 2 } })
}

/** A campaign to a person, which is over once its message has ended; and a note in the thread of it. */
async function campaignTo(who: Named): Promise<void> {
  const person = (await workspace.call('GET', `/rest/people/phone:${who.phone}`)) as Parsed
  const drafted = (await workspace.call('POST', '/rest/campaigns', {
    ...{ name: 'Spring', channel: 1, template: { name: 'offer', language: 'en' } },
    ...{ variables: [{ attribute: 'name', fallback: 'you' }], audience: { people: [person._id] } },
  })) as Parsed
  await workspace.call('POST', `/rest/campaigns/${drafted._id}/schedule`)
  await eventually(async () => {
    const { states } = (await workspace.call('GET', `/rest/campaigns/${drafted._id}/results`)) as Parsed
    return states.sent === 1
  })
  // Threads are written behind their messages.
  const data = await eventually(async () => {
    const { data: found } = (await workspace.call('GET', `/rest/threads?q=${who.phone}`)) as Parsed
    return found.length > 0 ? found : undefined
  })
  for (const { _id } of data)
    await workspace.call('POST', `/rest/threads/${_id}/notes`, { text: `${who.word} calls back` })
}

async function fill(who: Named): Promise<void> {
  await workspace.call('POST', '/rest/tasks', {
    ...{ name: 'Order', description: '', extId: who.phone, workflow: 1, currentStep: 1, status: 'active' },
    context: { said: `${who.word} in the task` },
  })
  await write(who, `Hello, ${who.word}`)
  await write(who, 'Stop')
  const preference = {
    wa_id: who.phone,
    category: 'marketing_messages',
    value: 'resume',
    timestamp: seconds(),
  }
  await receive('user_preferences', {
    contacts: [{ wa_id: who.phone }],
    user_preferences: [{ ...preference, detail: `User ${who.name} requested to resume` }],
  })
  const audio = `data:audio/ogg;base64,${who.word.repeat(20_000)}`
  expect((await postMessage({ phone: who.phone, name: who.name }, { answer: {}, audio })).status).toBe(200)
  expect((await postMessage({ phone: `+${who.phone}` }, { answer: { message: who.word } })).status).toBe(200)
  expect((await offer(who)).status).toBe(200)
  // Somebody else has that thread by now.
  const shared = { extId: 'order-shared' }
  await postMessage({ phone: who.phone }, { thread: shared, answer: { message: who.word } })
  await postMessage({ phone: '4915550000000' }, { thread: shared, answer: { message: 'for somebody else' } })
  await eventually(async () => (await workspace.request('GET', `/rest/people/phone:${who.phone}`)).ok)
  await workspace.call('PATCH', `/rest/people/phone:${who.phone}`, {
    tags: ['vip'],
    consent: { marketing: { status: 'granted', text: `${who.word}: yes, please` } },
  })
  await eventually(async () => {
    const open = { workspace: { $exists: true }, open: true }
    const isSettled = (await parley.database('dispatcher').collection('messages').countDocuments(open)) === 0
    const { data } = (await workspace.call('GET', `/rest/people/phone:${who.phone}/consent`)) as Parsed
    // The consent has been posted to those who subscribed to it.
    const { _id } = (await workspace.call('GET', `/rest/people/phone:${who.phone}`)) as Parsed
    const isPosted = await parley
      .database('dispatcher')
      .collection('deliveries')
      .findOne({ record: `people/${_id}` })
    return isSettled && isPosted !== null && data.length >= 3
  })
  await importFile(who)
  await campaignTo(who)
}

/** Where anything of the canary is, in any database. */
async function traces(): Promise<string[]> {
  const found: string[] = []
  for (const service of SERVICES) {
    const database = parley.database(service)
    for (const { name } of await database.listCollections().toArray()) {
      const collection = database.collection(name)
      for await (const document of collection.find()) {
        const text = textOf(document)
        for (const trace of [...TRACES, ...ids])
          if (text.includes(trace) && !isMark(name, document))
            found.push(`${service}.${name}: ${trace} in ${text.slice(0, 300)}`)
      }
      for (const index of await collection.indexes())
        if (TRACES.some((trace) => JSON.stringify(index).includes(trace))) found.push(`an index of ${name}`)
    }
  }
  return found
}

/** For an hour the name of an erased thread is there, so that nobody makes it anew of what they still knew. */
function isMark(name: string, { workspace: of, expiresAt, lastMessage }: mongo.Document): boolean {
  const isSoonGone = expiresAt instanceof Date && expiresAt.getTime() <= Date.now() + 60 * 60 * 1_000
  return name === 'threads' && of === undefined && lastMessage === '' && isSoonGone
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, one) => {
    const bytes =
      one?.type === 'Buffer' ? Buffer.from(one.data) : one?._bsontype === 'Binary' ? one.buffer : undefined
    return bytes === undefined ? one : bytes.toString('latin1')
  })
}

async function queued(): Promise<string[]> {
  const { amqpUrl } = await testServers()
  const connection = await connect(amqpUrl)
  const channel = await connection.createChannel()
  const names = [
    'people',
    'campaigns.events',
    'tasks',
    'messages.notices',
    'messages.rejected',
    'messages.statuses',
  ]
  const left: string[] = []
  for (const name of names) {
    const { messageCount } = await channel.checkQueue(name)
    if (messageCount > 0) left.push(`${messageCount} in ${name}`)
  }
  await connection.close()
  return left
}

async function inRedis(): Promise<string[]> {
  const { redisUrl } = await testServers()
  const redis = new Redis(redisUrl)
  const found: string[] = []
  for (const key of await redis.keys('*')) {
    const value = await redis.get(key).catch(() => '')
    const ttl = await redis.pttl(key)
    // The pace to a number is there for some minutes.
    const isRate = key.startsWith('pace:') && ttl > 0 && ttl <= 10 * 60 * 1_000
    if (!isRate && TRACES.some((trace) => key.includes(trace) || value?.includes(trace))) found.push(key)
  }
  redis.disconnect()
  return found
}

test('a person can be exported and erased in every service while they are sent to, and nothing of them is left but that they get no marketing', async () => {
  await fill(CANARY)
  await fill(OTHER)
  const canary = `/rest/people/phone:${CANARY.phone}`
  const before = await traces()
  for (const service of ['configuration', 'webhook', 'dispatcher', 'campaigns'])
    expect(before.filter((one) => one.startsWith(service)).length).toBeGreaterThan(0)

  const everything = (await workspace.call('GET', `${canary}/export`)) as Parsed
  expect(everything).toMatchObject({
    person: {
      name: CANARY.name,
      tags: expect.arrayContaining(['vip', CANARY.word]),
      consent: { marketing: { status: 'granted', source: 'api' } },
    },
    addressBook: [{ addresses: expect.arrayContaining([`phone:${CANARY.phone}`, `whatsapp:${CANARY.id}`]) }],
    campaigns: [{ name: 'Spring', state: 'sent' }],
    next: null,
  })
  ids.push(everything.person._id)
  expect(everything.consentHistory.map(({ source }: Parsed) => source)).toEqual(
    expect.arrayContaining(['message', 'provider', 'api']),
  )
  const exported = JSON.stringify(everything)
  for (const part of [
    `Hello, ${CANARY.word}`,
    `${CANARY.word} in the task`,
    `${CANARY.word}: yes, please`,
    'requested to resume',
    `${CANARY.word} calls back`,
  ])
    expect(exported).toContain(part)
  expect(exported).not.toContain(OTHER.phone)
  expect(exported).not.toContain('for somebody else')
  expect((await traces()).some((one) => one.startsWith('campaigns.recipients'))).toBe(true)
  await eventually(async () => (await traces()).some((one) => one.startsWith('dispatcher.messageWords')))

  const sending = Array.from({ length: 10 }, () => offer(CANARY))
  // 503 says that there is more to erase: the next request goes on with it.
  await eventually(async () => {
    const response = await workspace.request('DELETE', canary)
    await response.body?.cancel()
    return response.ok || response.status === 404
  })
  await Promise.all(sending)
  // Messages that were accepted while they were erased are theirs, too.
  await eventually(async () => {
    const open = { open: true }
    return (await parley.database('dispatcher').collection('messages').countDocuments(open)) === 0
  })
  await eventually(async () => {
    const response = await workspace.request('DELETE', canary)
    await response.body?.cancel()
    return (response.status === 404 && (await traces()).length === 0) || undefined
  }).catch(async () => expect(await traces()).toEqual([]))

  expect(await queued()).toEqual([])
  expect(await inRedis()).toEqual([])
  expect((await workspace.request('GET', canary)).status).toBe(404)
  // Their name comes by the queue of people.
  await eventually(async () => {
    const other = (await workspace.call('GET', `/rest/people/phone:${OTHER.phone}`)) as Parsed
    return other.name === OTHER.name
  })
  const others = JSON.stringify(await workspace.call('GET', `/rest/people/phone:${OTHER.phone}/export`))
  expect(others).toContain(`Hello, ${OTHER.word}`)
  // The outcome of the message still counts.
  const { data: campaigns } = (await workspace.call('GET', '/rest/campaigns')) as Parsed
  const audiences = await Promise.all(
    campaigns.map(({ _id }: Parsed) => workspace.call('GET', `/rest/campaigns/${_id}/results`)),
  )
  expect(audiences).toEqual(
    Array(2).fill(expect.objectContaining({ audience: 1, states: expect.objectContaining({ sent: 1 }) })),
  )

  const response = await offer(CANARY)
  const id = response.headers.get('x-message-id')
  const message = await eventually(async () => {
    const found = (await workspace.call('GET', `/rest/messages/${id}`).catch(() => undefined)) as Parsed
    return found?.state === 'dead' ? found : undefined
  })
  expect(message).toMatchObject({ fault: 'recipient', attempts: [{ code: 'opted_out' }] })
}, 120_000)
