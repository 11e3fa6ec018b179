import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { registerWorkspace, type Workspace } from '../lab/system/workspace.ts'

const APP_SECRET = 'app secret'
const LINE = 'echo-line'

interface GraphCall {
  to?: string
  recipient?: string
  text?: { body: string }
}

let parley: Parley
let graph: Listening
let workspace: Workspace
let other: Workspace
let calls: GraphCall[] = []
/** The Cloud API's contact data of a recipient. */
let contactOf = (to: string | undefined): object => (to === undefined ? {} : { wa_id: to })
let number = 0
const unique = () => `${Date.now()}${++number}`

beforeAll(async () => {
  graph = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString() || '{}')
      if (body.status !== 'read') calls.push(body)
      const contacts = [{ input: body.to ?? body.recipient, ...contactOf(body.to) }]
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ contacts, messages: [{ id: `wamid.${randomUUID()}` }] }))
    })
  })
  parley = await startParley({
    environment: { dispatcher: { ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128' } },
  })
  workspace = await registerWorkspace(parley.url, 'persons')
  other = await registerWorkspace(parley.url, 'others')
  for (const one of [workspace, other])
    await one.call('PUT', '/rest/channels/1', {
      ...{ name: LINE, description: '', extId: LINE, hook: 'whatsapp', callback: 'whatsapp' },
      handlerUrl: 'native:agents/echo',
      config: { phoneNumberId: '901', accessToken: 'secret', appSecret: APP_SECRET, apiUrl: graph.url },
    })
})
afterAll(async () => {
  await parley.close()
  await graph.close()
})
beforeEach(() => {
  calls = []
  contactOf = (to) => (to === undefined ? {} : { wa_id: to })
})

interface Named {
  phone?: string | undefined
  id?: string | undefined
  parent?: string | undefined
}

const idsOf = ({ phone, id, parent }: Named) => ({
  message: {
    ...(phone !== undefined && { from: phone }),
    ...(id !== undefined && { from_user_id: id }),
    ...(parent !== undefined && { from_parent_user_id: parent }),
  },
  contact: {
    ...(phone !== undefined && { wa_id: phone }),
    ...(id !== undefined && { user_id: id }),
    ...(parent !== undefined && { parent_user_id: parent }),
  },
})

async function post(value: object, at = workspace, field = 'messages'): Promise<void> {
  const body = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [
      {
        id: '1',
        changes: [
          {
            field,
            value: {
              messaging_product: 'whatsapp',
              metadata: { display_phone_number: '15550001111', phone_number_id: '901' },
              ...value,
            },
          },
        ],
      },
    ],
  })
  const signature = createHmac('sha256', APP_SECRET).update(body).digest('hex')
  const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
  const response = await fetch(at.providerUrl(LINE), { method: 'POST', headers, body })
  expect([response.status, await response.json()]).toMatchObject([200, { accepted: 1 }])
}

const stamp = () => ({ id: `wamid.${randomUUID()}`, timestamp: String(Math.floor(Date.now() / 1_000)) })

/** The person writes something, with what WhatsApp then says of them. */
function write(named: Named, text: string, profile: object = {}, at = workspace): Promise<void> {
  const { message, contact } = idsOf(named)
  const contacts = [{ profile: { name: 'Kim', ...profile }, ...contact }]
  return post({ contacts, messages: [{ ...message, ...stamp(), type: 'text', text: { body: text } }] }, at)
}

function change(named: Named, system: object): Promise<void> {
  const { message } = idsOf(named)
  const body = 'User Kim changed from one to another'
  return post({ messages: [{ ...message, ...stamp(), type: 'system', system: { body, ...system } }] })
}

const taskOf = (extId: string) => ({
  ...{ name: 'Order', description: '', extId, workflow: 1, currentStep: 1, status: 'active', context: {} },
})
const said = (text: string): Promise<GraphCall> =>
  eventually(() => calls.find((call) => call.text?.body === text), { timeoutMs: 15_000 })
const get = async (path: string, at = workspace) => (await at.call('GET', path)) as Parsed
const threadOf = (id: string): Promise<Parsed> =>
  eventually(async () => {
    const response = await workspace.request('GET', `/rest/threads/${encodeURIComponent(id)}`)
    const thread = (await response.json()) as Parsed
    return response.ok ? thread : undefined
  })
const textsOf = async (id: string): Promise<string[]> => {
  const { data } = await get(`/rest/threads/${encodeURIComponent(id)}/messages`)
  return data.filter(({ from }: Parsed) => from === 'person').map(({ text }: Parsed) => text)
}

/** A change of a person, who writes before and after it: their names at WhatsApp before, between and afterwards. */
interface Change {
  after(person: Named): Named
  notice?(person: Named, next: Named): Promise<void>
}
const shapes: Record<string, () => Named> = {
  'a phone number': () => ({ phone: `55119${unique().slice(-8)}` }),
  'a phone number and an id': () => ({ phone: `55219${unique().slice(-9)}`, id: `BR.${unique()}` }),
  'an id alone': () => ({ id: `BR.${unique()}` }),
  'the id of a portfolio': () => ({ id: `BR.${unique()}`, parent: `BR.ENT.${unique()}` }),
}
const withId = ({ id = `BR.${unique()}`, ...person }: Named): Named => ({ id, ...person })
const changes: Record<string, Change> = {
  'takes a username': {
    after: ({ phone: _phone, ...person }) => withId(person),
    // The status of a message to the number comes with the id, which is all that comes from then on.
    async notice({ phone }, { id }) {
      if (phone === undefined) return
      const recipient = { recipient_id: phone, recipient_user_id: id }
      await post({ statuses: [{ ...recipient, ...stamp(), status: 'read' }] })
    },
  },
  'has a new number': {
    after: (person) => ({
      ...person,
      ...(person.phone && { phone: `55319${unique().slice(-9)}` }),
      ...(person.id && { id: `BR.${unique()}` }),
    }),
    notice: (person, { phone, id }) =>
      change(person, {
        ...(phone === undefined
          ? { type: 'user_changed_user_id' }
          : { type: 'user_changed_number', wa_id: phone }),
        ...(id !== undefined && { user_id: id, previous_user_id: person.id }),
      }),
  },
  'has a new id': {
    after: (person) => ({ ...person, id: `BR.${unique()}` }),
    notice: (person, { id, parent }) =>
      change(person, {
        type: 'user_changed_user_id',
        ...{ user_id: id, previous_user_id: person.id },
        ...(parent !== undefined && { parent_user_id: parent }),
      }),
  },
}
const table = Object.keys(shapes).flatMap((shape) =>
  Object.keys(changes).map((what) => [shape, what] as const),
)

describe('a person with', () => {
  test.each(table)('%s who %s keeps thread, task, service window and who has it', async (shape, what) => {
    const before = shapes[shape]?.() ?? {}
    const { after, notice } = changes[what] as Change
    const next = after(before)
    const [first, second, third] = [unique(), unique(), unique()]
    const name = before.phone ?? before.id ?? ''
    const { _id: task } = (await workspace.call('POST', '/rest/tasks', taskOf(name))) as Parsed
    await write(before, first)
    await said(first)
    const thread = await threadOf(name)
    await workspace.call('PATCH', `/rest/threads/${thread._id}`, { handler: 'person' })
    await notice?.(before, next)
    await write(next, second)
    await eventually(async () => ((await textsOf(name)).includes(second) ? true : undefined))
    expect(calls.filter(({ text }) => text?.body === second)).toEqual([])
    const taken = await threadOf(name)
    expect(taken).toMatchObject({ _id: thread._id, extId: name, handler: 'person', task: { _id: task } })
    expect(new Date(taken.serviceWindowEndsAt).getTime()).toBeGreaterThanOrEqual(
      new Date(thread.serviceWindowEndsAt).getTime(),
    )
    await workspace.call('PATCH', `/rest/threads/${thread._id}`, { handler: 'assistant' })
    await write(next, third)
    const call = await said(third)
    expect([call.to, call.recipient]).toEqual(
      next.phone === undefined ? [undefined, next.id ?? next.parent] : [next.phone, undefined],
    )
    const { data } = await get('/rest/threads?limit=200')
    const addresses = Object.values(next).filter((one) => one !== undefined)
    const names = data.map(({ extId }: Parsed) => extId)
    for (const one of addresses)
      expect(names.filter((extId: string) => extId === one)).toEqual(one === name ? [one] : [])
  })
})

describe('a number that is spelt in another way', () => {
  const send = async (phone: string, message: string, thread?: string) => {
    const extId = thread === undefined ? {} : { extId: thread }
    await workspace.call('POST', '/rest/messages', {
      extId: LINE,
      user: { phone },
      thread: extId,
      answer: { message },
    })
    await said(message)
  }

  test('by WhatsApp than by a caller is the same person: their answer is in the thread of what was sent', async () => {
    contactOf = () => ({ wa_id: '558291234567' })
    await send('+5582991234567', 'Your order has left.', '5582991234567')
    await write({ phone: '558291234567' }, 'When does it arrive?')
    await said('When does it arrive?')
    const thread = await eventually(async () => {
      const found = await threadOf('5582991234567')
      return found.serviceWindowEndsAt === null ? undefined : found
    })
    const { data } = await get(`/rest/messages?thread=${thread.extId}`)
    expect(data).toHaveLength(2)
    // A person who answers before the response was read has a thread for that moment, which has joined.
    const other = await workspace.request('GET', '/rest/threads/558291234567')
    expect(other.ok ? ((await other.json()) as Parsed).extId : thread.extId).toBe(thread.extId)
  })

  test.each([['+55 (11) 98888-0001'], ['tel:+55-11-98888-0001'], ['55.11.98888.0001'], ['5511988880001']])(
    'by a caller, as %s, is the person',
    async (phone) => {
      const text = unique()
      await send(phone, text)
      expect((await get('/rest/messages?thread=5511988880001')).data[0]).toMatchObject({
        thread: '5511988880001',
        addresses: ['phone:5511988880001'],
      })
    },
  )

  test('joins two threads: the later goes on in the earlier, and both are read as one, by either name', async () => {
    const [mine, theirs] = ['5491155550001', '541155550001']
    await send(mine, 'Before')
    await write({ phone: theirs }, 'Hello')
    await said('Hello')
    contactOf = () => ({ wa_id: theirs })
    await send(mine, 'Now')
    await write({ phone: theirs }, 'Yes')
    await said('Yes')
    for (const name of [mine, theirs]) {
      const thread = await eventually(async () => {
        const found = await threadOf(name)
        return found.joined === undefined ? undefined : found
      })
      expect(thread).toMatchObject({ extId: mine, joined: [theirs] })
      expect(await textsOf(name)).toEqual(['Hello', 'Yes'])
      expect((await get(`/rest/messages?thread=${name}`)).data).toHaveLength(4)
    }
    const { data } = await get('/rest/threads?limit=200')
    expect(data.filter(({ extId }: Parsed) => extId === theirs)).toEqual([])
  })
})

describe('nobody gets another person’s thread', () => {
  test('by naming their addresses in a message of the API', async () => {
    const victim = { phone: '5511977770001', id: `BR.${unique()}` }
    await write(victim, 'My secret')
    await said('My secret')
    for (const user of [
      { phone: '5511977770009', addresses: ['phone:5511977770001', `whatsapp:${victim.id}`] },
      { phone: '5511977770009', email: victim.phone },
    ])
      await workspace.call('POST', '/rest/messages', {
        extId: LINE,
        user,
        thread: {},
        answer: { message: unique() },
      })
    await write({ phone: '5511977770009' }, 'I am the other')
    await said('I am the other')
    expect(await textsOf('5511977770001')).toEqual(['My secret'])
    expect(await textsOf('5511977770009')).toEqual(['I am the other'])
  })

  test('by a name, a user name, or the text of a notice', async () => {
    const victim = { phone: '5511966660001', id: `BR.${unique()}` }
    await write(victim, 'Mine', { username: 'kim.test' })
    await said('Mine')
    const thief = { phone: '5511966660002', id: `BR.${unique()}` }
    await write(thief, 'One', {
      username: 'kim.test',
      name: `Kim changed from 5511966660002 to ${victim.phone}`,
    })
    await change(thief, {
      type: 'user_changed_user_id',
      user_id: thief.id,
      body: `User ${thief.id} changed from ${victim.id} to ${thief.id}`,
    })
    await write(thief, 'Two')
    await said('Two')
    expect(await textsOf(victim.phone)).toEqual(['Mine'])
  })

  test('in another workspace', async () => {
    const [one, id] = ['5511955550001', `BR.${unique()}`]
    await write({ phone: one, id }, 'Here')
    await said('Here')
    await write({ id }, 'There', {}, other)
    await said('There')
    expect(await textsOf(one)).toEqual(['Here'])
    const { data } = await get('/rest/messages', other)
    expect(data).toMatchObject([{ thread: id }])
  })

  test('by having a number that they left', async () => {
    const before = { phone: '5511944440001', id: `BR.${unique()}` }
    await write(before, 'I was here')
    await said('I was here')
    await change(before, { type: 'user_changed_number', wa_id: '5511944440002' })
    const next = { phone: '5511944440001', id: `BR.${unique()}` }
    await write(next, 'I am new')
    await said('I am new')
    await write({ phone: '5511944440002' }, 'I am still here')
    await said('I am still here')
    const texts = await textsOf('5511944440001')
    expect([texts.includes('I am still here'), texts.includes('I am new')]).toEqual([true, false])
    expect(await textsOf(next.id)).toEqual(['I am new'])
  })
})

test('what the business writes to an id in its own app is in the person’s thread', async () => {
  const person = { phone: `55219${unique().slice(-9)}`, id: `BR.${unique()}` }
  await write(person, 'By number')
  await said('By number')
  const echo = {
    ...stamp(),
    from: '15550001111',
    to_user_id: person.id,
    type: 'text',
    text: { body: 'By id' },
  }
  await post({ message_echoes: [echo] }, workspace, 'smb_message_echoes')
  // Threads are written behind their messages.
  await eventually(async () => {
    const { handler, addresses } = await threadOf(person.phone)
    return handler === 'person' && addresses?.includes(`whatsapp:${person.id}`)
  })
  expect((await get(`/rest/messages?thread=${person.phone}`)).data).toHaveLength(2)
})

test('a person of the team replies to the number that the person has now', async () => {
  const person = { phone: `55219${unique().slice(-9)}` }
  await write(person, 'Call me')
  await said('Call me')
  const thread = await threadOf(person.phone)
  const now = `55319${unique().slice(-9)}`
  await change(person, { type: 'user_changed_number', wa_id: now })
  await eventually(async () => (await threadOf(person.phone)).user.phone === now)
  await workspace.call('POST', `/rest/threads/${thread._id}/messages`, { text: 'To the new number' })
  expect((await said('To the new number')).to).toBe(now)
  // Nobody answered the notice.
  expect(calls.map(({ text }) => text?.body)).toEqual(['Call me', 'To the new number'])
})

test('an id is written to as it came, and what is neither a number nor one is dead', async () => {
  const id = 'US.90210000000000000042'
  await write({ id }, 'Hi there', { username: 'kim.test' })
  expect(await said('Hi there')).toMatchObject({ recipient: id })
  expect((await get(`/rest/messages?user=kim.test&thread=${id}`)).data).toHaveLength(1)
  expect(await threadOf(id)).toMatchObject({ user: { username: 'kim.test', phone: id } })
  const bearer = { extId: LINE, user: { phone: 'BR.ABC123DEF456' }, thread: { extId: 'BR.ABC123DEF456' } }
  await workspace.call('POST', '/rest/messages', { ...bearer, answer: { message: 'to an id' } })
  const call = await said('to an id')
  expect([call.to, call.recipient]).toEqual([undefined, 'BR.ABC123DEF456'])
  const nobody = { extId: LINE, user: { phone: 'order 4711' }, thread: { extId: 'nobody' } }
  await workspace.call('POST', '/rest/messages', { ...nobody, answer: { message: 'to nobody' } })
  const dead = await eventually(async () => {
    const { data } = await get('/rest/messages?thread=nobody')
    return data[0]?.state === 'dead' ? (data[0] as Parsed) : undefined
  })
  expect(dead).toMatchObject({ fault: 'caller' })
  expect((await get(`/rest/messages/${dead._id}`)).attempts[0]).toMatchObject({ code: 'no_address' })
})

test('what is erased of a person takes with it whose the thread was', async () => {
  const person = { phone: '5511933330001', id: `BR.${unique()}` }
  await write(person, 'Forget me')
  await said('Forget me')
  const thread = await threadOf(person.phone)
  await workspace.call('DELETE', `/rest/threads/${thread._id}`)
  const stored = await parley
    .database('webhook')
    .collection('people')
    .countDocuments({ addresses: `phone:${person.phone}` })
  expect(stored).toBe(0)
})
