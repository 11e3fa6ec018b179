import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { registerWebhook } from '@parley/local/simulator/client'
import { eventually } from '@parley/local/testing/service-under-test'
import { type EventReceiver, startEventReceiver } from '../lab/system/receivers.ts'
import { type RunningParley, startProcesses } from './running-parley.ts'

let parley: RunningParley
const receivers: EventReceiver[] = []
beforeAll(async () => {
  parley = await startProcesses()
})
afterAll(async () => {
  await parley.stop()
  for (const receiver of receivers) await receiver.close()
})

const ALL_OF_MESSAGES = ['received', 'sent', 'delivered', 'read', 'failed', 'dead'].map(
  (state) => `message.${state}`,
)

async function subscribe(events: string[], options: { token?: string; channel?: number } = {}) {
  const receiver = await startEventReceiver()
  receivers.push(receiver)
  const { token, ...fields } = options
  const body = { name: 'test', url: `${receiver.url}/events`, events, ...fields }
  const { status, json } = await parley.call('POST', '/rest/subscriptions', { body, ...(token && { token }) })
  expect(status).toBe(200)
  receiver.secret = String(json.signingSecret)
  return { receiver, id: Number(json._id), path: `/rest/subscriptions/${json._id}` }
}

async function post(extId: string, thread: string, message: string): Promise<string> {
  const body = { extId, user: { phone: '+55 11 98888-7777' }, thread: { extId: thread }, answer: { message } }
  const posted = await parley.call('POST', '/api/hooks/whatsapp', { body })
  expect(posted.status).toBe(200)
  return String(posted.headers.get('x-message-id'))
}

const typesOf = ({ events }: EventReceiver, id: string | number) =>
  events.filter(({ data }) => data._id === id).map(({ type }) => type)
const got = (receiver: EventReceiver, id: string | number, type: string) =>
  eventually(() => typesOf(receiver, id).includes(type))

test('every state that a message passes is posted, signed, in order, and to nobody else', async () => {
  const rival = await parley.register('rival')
  const appSecret = 'secret of the line'
  await parley.putWhatsappChannel(1, { extId: 'line', phoneNumberId: '1001' })
  const config = {
    phoneNumberId: '1001',
    accessToken: 'x',
    apiUrl: `${parley.system.simulatorUrl}/v23.0`,
    appSecret,
  }
  expect((await parley.call('PATCH', '/rest/channels/1', { body: { config } })).status).toBe(200)
  const url = `${parley.system.gatewayUrl}/api/hooks/whatsapp/acme/line`
  await registerWebhook({ simulatorUrl: parley.system.simulatorUrl, phoneNumberId: '1001', appSecret }, url)
  const { receiver, path } = await subscribe(ALL_OF_MESSAGES)
  const other = await subscribe(ALL_OF_MESSAGES, { token: rival })
  const id = await post('line', 'one', 'Olá!')
  await got(receiver, id, 'message.delivered')
  expect(typesOf(receiver, id).slice(0, 3)).toEqual(['message.received', 'message.sent', 'message.delivered'])
  const [first] = receiver.events
  expect(first).toMatchObject({ type: 'message.received', data: { _id: id, thread: 'one' } })
  expect(JSON.stringify(receiver.events)).not.toContain(appSecret)
  expect(receiver.refused).toBe(0)
  const listed = await eventually(async () => {
    const { json } = await parley.call('GET', `${path}/deliveries?state=delivered`)
    const data = json.data as { _id: string; event: string; attempts: object[] }[]
    return data.length >= 3 ? data : undefined
  })
  expect(listed.at(-1)).toMatchObject({
    _id: first?.id,
    event: 'message.received',
    attempts: [{ outcome: 'accepted' }],
  })
  const detail = await parley.call('GET', `${path}/deliveries/${first?.id}`)
  expect(detail.json).toMatchObject({ payload: { type: 'message.received', data: { _id: id } } })
  expect(other.receiver.events).toEqual([])
  // Its own subscription has the same id.
  expect((await parley.call('GET', `${path}/deliveries`, { token: rival })).json).toEqual({
    data: [],
    next: null,
  })
  const theirs = await parley.call('GET', `${path}/deliveries/${first?.id}`, { token: rival })
  expect(theirs.status).toBe(404)
})

test('a receiver that fails gets the event again under the same id, and one can be sent again', async () => {
  const { receiver, path } = await subscribe(['configuration.steps.created', 'configuration.steps.updated'])
  let failures = 2
  receiver.answer = () => (failures-- > 0 ? 500 : 200)
  const step = { name: 'One', description: '', instructions: '', submitWhen: '' }
  expect((await parley.call('PUT', '/rest/steps/1', { body: step })).status).toBe(200)
  await eventually(() => receiver.events.length >= 3)
  const [event] = receiver.events
  expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(1)
  expect(event).toMatchObject({
    type: 'configuration.steps.created',
    data: { resource: 'steps', _id: 1, document: { name: 'One' }, by: { username: 'acme@example.com' } },
  })
  await eventually(async () => {
    const { json } = await parley.call('GET', `${path}/deliveries/${event?.id}`)
    return json.state === 'delivered'
  })
  expect((await parley.call('POST', `${path}/deliveries/${event?.id}/replay`)).json).toMatchObject({
    replayed: true,
  })
  await eventually(() => receiver.events.length >= 4)
  await eventually(async () => {
    const { json } = await parley.call('GET', `${path}/deliveries/${event?.id}`)
    return json.state === 'delivered'
  })
  const since = new Date(Date.now() - 60_000).toISOString()
  expect((await parley.call('POST', `${path}/replay`, { body: { since } })).json).toEqual({
    replayed: 1,
    next: null,
  })
  await eventually(() => receiver.events.length >= 5)
  expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(1)
})

test('a test event arrives whatever the subscription names, unless it is turned off', async () => {
  const { receiver, path, id } = await subscribe(['message.dead'])
  const { json } = await parley.call('POST', `${path}/test`)
  expect(json).toMatchObject({ event: 'subscription.test', state: 'pending' })
  await eventually(() => receiver.events.length > 0)
  expect(receiver.events).toMatchObject([
    { id: json._id, type: 'subscription.test', data: { subscription: { _id: id, name: 'test' } } },
  ])
  expect((await parley.call('PATCH', path, { body: { active: false } })).status).toBe(200)
  const refused = await parley.call('POST', `${path}/test`)
  expect([refused.status, refused.json.code]).toEqual([409, 'subscription_inactive'])
})

test('what a task goes through is posted', async () => {
  const { receiver } = await subscribe([
    'task.started',
    'task.step_completed',
    'task.completed',
    'task.failed',
  ])
  const step = { name: 'Ask', description: '', instructions: '', submitWhen: '' }
  const put = async (path: string, body: object) =>
    expect((await parley.call('PUT', `/rest/${path}`, { body })).status).toBe(200)
  await put('steps/11', { ...step, next: 12 })
  await put('steps/12', step)
  await put('workflows/11', { name: 'Two steps', description: '', steps: [11, 12], firstStep: 11 })
  await parley.putWhatsappChannel(11, { extId: 'tasks', phoneNumberId: '1011' })
  const task = {
    workflow: 11,
    currentStep: 11,
    status: 'active',
    name: 'Run',
    description: '',
    extId: 'of task',
  }
  await put('tasks/11', task)
  const submit = async () => {
    const body = {
      extId: 'tasks',
      user: {},
      thread: { extId: 'of task' },
      answer: { submit: { said: 'yes' } },
    }
    expect((await parley.call('POST', '/api/hooks/whatsapp', { body })).status).toBe(200)
  }
  await submit()
  await got(receiver, 11, 'task.step_completed')
  await submit()
  await got(receiver, 11, 'task.completed')
  await put('tasks/11', { ...task, status: 'failed' })
  await got(receiver, 11, 'task.failed')
  expect(typesOf(receiver, 11)).toEqual([
    ...['task.started', 'task.step_completed', 'task.step_completed', 'task.completed', 'task.failed'],
  ])
})

test('a subscription of one channel gets what happens there', async () => {
  await parley.putWhatsappChannel(21, { extId: 'here', phoneNumberId: '1021' })
  await parley.putWhatsappChannel(22, { extId: 'there', phoneNumberId: '1022' })
  const { receiver } = await subscribe(['message.received'], { channel: 21 })
  await post('there', 'a', 'x')
  const id = await post('here', 'b', 'y')
  await got(receiver, id, 'message.received')
  expect(receiver.events.map(({ data }) => data.channel)).toEqual(['here'])
})

test('a thread that begins and that a person takes over is posted, and is erased with its deliveries', async () => {
  await parley.putWhatsappChannel(41, { extId: 'talk', phoneNumberId: '1041' })
  const { receiver, path } = await subscribe(['message.received', 'thread.opened', 'thread.handed_off'], {
    channel: 41,
  })
  receiver.answer = ({ type }) => (type === 'thread.handed_off' ? 500 : 200)
  const message = await post('talk', 'of a person', 'A secret')
  const { _id } = await eventually(() => receiver.events.find(({ type }) => type === 'thread.opened')?.data)
  await parley.call('PATCH', `/rest/threads/${_id}`, { body: { handler: 'person' } })
  await parley.call('PATCH', `/rest/threads/${_id}`, { body: { handler: 'person' } })
  const { data } = await eventually(() => receiver.events.find(({ type }) => type === 'thread.handed_off'))
  expect(data).toMatchObject({
    ...{ _id, extId: 'of a person', channel: 'talk', handler: 'person', by: 'person', reason: null },
  })
  const listed = async () => {
    const { json } = await parley.call('GET', `${path}/deliveries`)
    return (json.data as { event: string; record: string }[]).map(({ event, record }) => `${event} ${record}`)
  }
  expect(await listed()).toEqual([
    ...[`thread.handed_off threads/${_id}`, `thread.opened threads/${_id}`],
    `message.received messages/${message}`,
  ])
  expect((await parley.call('DELETE', `/rest/threads/${_id}`)).status).toBeLessThan(300)
  expect(await listed()).toEqual([])
})

test('a subscription gets only what the account that wrote it may read at the moment', async () => {
  const permissions = (read: string) => [
    {
      schema: "{{resource}} == 'subscriptions'",
      read: '{{account.workspace._id}}',
      write: '{{account.workspace._id}}',
    },
    { schema: "{{resource}} == 'messages'", read, write: '' },
  ]
  const role = { name: 'WATCHER', permissions: permissions('{{account.workspace._id}}') }
  const { json: made } = await parley.call('POST', '/rest/roles', { body: role })
  const user = {
    name: 'Eva',
    email: 'eva@example.com',
    phone: '2',
    password: 'a long password',
    role: 'WATCHER',
  }
  expect((await parley.call('POST', '/rest/users', { body: user })).status).toBe(200)
  const { json: login } = await parley.call('POST', '/api/auth/login', {
    body: { email: user.email, password: user.password },
    token: null,
  })
  await parley.putWhatsappChannel(31, { extId: 'watched', phoneNumberId: '1031' })
  const { receiver, path } = await subscribe(['message.received'], { token: String(login.accessToken) })
  await got(receiver, await post('watched', 'a', 'x'), 'message.received')
  const denied = { ...role, permissions: permissions('') }
  expect((await parley.call('PUT', `/rest/roles/${made._id}`, { body: denied })).status).toBe(200)
  const count = receiver.events.length
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  const id = await post('watched', 'a', 'y')
  const refused = await eventually(async () => {
    const { json } = await parley.call('GET', `${path}/deliveries?state=failed`)
    return (json.data as { record: string; reason: string }[]).find(
      ({ record }) => record === `messages/${id}`,
    )
  })
  expect(refused.reason).toBe('The account of the subscription may not read it.')
  expect(receiver.events).toHaveLength(count)
})
