import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { startSimulator } from './running-simulator.ts'

const SECRET = 'app secret'
const BODY = { type: 'BODY', text: 'Your order is on its way.' }

interface Post {
  signature: string
  body: string
  statuses: Array<{ id: string; status: string; recipient_id: string; biz_opaque_callback_data?: string }>
}

let simulator: Awaited<ReturnType<typeof startSimulator>>
let webhook: Listening
let posts: Post[]
let response: () => number

beforeAll(async () => {
  simulator = await startSimulator()
  webhook = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const [change] = JSON.parse(body).entry[0].changes
      posts.push({
        body,
        signature: String(req.headers['x-hub-signature-256']),
        statuses: change.value.statuses,
      })
      res.writeHead(response()).end()
    })
  })
})
afterAll(async () => {
  await simulator.stop()
  await webhook.close()
})
beforeEach(() => {
  posts = []
  response = () => 200
})

async function send(phoneNumberId: string, behaviour: object = {}) {
  await simulator.post('/simulator/webhook', { phoneNumberId, url: webhook.url, appSecret: SECRET })
  await simulator.post('/simulator/behaviour', { phoneNumberId, ...behaviour })
  const text = { messaging_product: 'whatsapp', to: '5511988887777', type: 'text', text: { body: 'hi' } }
  const { body } = await simulator.post(`/v23.0/${phoneNumberId}/messages`, {
    ...text,
    biz_opaque_callback_data: 'm:0',
  })
  return (body.messages as Array<{ id: string }>)[0]?.id
}
const behaviour = () => posts.flatMap(({ statuses }) => statuses.map(({ status }) => status))

test('the statuses of a send are posted to its number’s webhook, signed', async () => {
  const id = await send('1')
  await eventually(() => behaviour().length === 2)
  expect(behaviour()).toEqual(['sent', 'delivered'])
  for (const { body, signature, statuses } of posts) {
    expect(signature).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`)
    for (const status of statuses) {
      expect(status).toMatchObject({ id, recipient_id: '5511988887777', biz_opaque_callback_data: 'm:0' })
    }
  }
})

test('refused statuses are posted again until they are accepted', async () => {
  response = () => (posts.length < 3 ? 503 : 200)
  await send('2')
  await eventually(() => posts.length === 3)
  expect(new Set(posts.map(({ body }) => body)).size).toBe(1)
})

test('statuses can come twice, in the wrong order, and include read', async () => {
  await send('3', { reads: true, repeats: true, reorders: true })
  await eventually(() => behaviour().length === 6)
  expect(behaviour()).toEqual(['read', 'read', 'delivered', 'delivered', 'sent', 'sent'])
})

test('a status can say that a send failed, and why', async () => {
  await send('6', { undeliverable: [{ code: 131026, to: ['5511988887777'] }] })
  await eventually(() => behaviour().length === 2)
  expect(posts.flatMap(({ statuses }) => statuses)).toMatchObject([
    { status: 'sent' },
    { status: 'failed', errors: [{ code: 131026 }] },
  ])
})

test('a message of a person is posted to the number’s webhook in Meta’s form', async () => {
  await simulator.post('/simulator/webhook', { phoneNumberId: '7', url: webhook.url, appSecret: SECRET })
  const inbound = { phoneNumberId: '7', from: '5511988887777', name: 'João', text: 'oi' }
  const { body } = await simulator.post('/simulator/inbound', inbound)
  expect(body).toEqual({ id: expect.stringMatching(/^wamid\./), posted: true })
  const [post] = await eventually(() => (posts.length > 0 ? posts : undefined))
  const [change] = JSON.parse(post?.body ?? '').entry[0].changes
  expect(change).toEqual({
    field: 'messages',
    value: {
      messaging_product: 'whatsapp',
      metadata: { display_phone_number: '7', phone_number_id: '7' },
      contacts: [{ profile: { name: 'João' }, wa_id: '5511988887777' }],
      messages: [
        {
          id: body.id,
          from: '5511988887777',
          timestamp: expect.any(String),
          type: 'text',
          text: { body: 'oi' },
        },
      ],
    },
  })
  const nobody = await simulator.post('/simulator/inbound', { ...inbound, phoneNumberId: '8' })
  expect(nobody.body).toMatchObject({ posted: false })
})

test('what happens to a template has a time, the same when it is posted again, by which two like it differ', async () => {
  await simulator.post('/simulator/webhook', { phoneNumberId: '9', url: webhook.url, appSecret: SECRET })
  const named = { name: 'spring', language: 'pt_BR' }
  await simulator.post('/v26.0/acc/message_templates', { ...named, category: 'UTILITY', components: [BODY] })
  response = () => (posts.length < 2 ? 503 : 200)
  const approve = () =>
    simulator.post('/simulator/template-state', { ...named, status: 'APPROVED', phoneNumberId: '9' })
  const said = Date.now()
  await approve()
  const [first, again] = await eventually(() => (posts.length === 2 ? posts : undefined))
  expect(first?.body).toBe(again?.body)
  await eventually(() => Date.now() - said > 1_000)
  await approve()
  const [, , second] = await eventually(() => (posts.length === 3 ? posts : undefined))
  const [before, after] = [first, second].map((post) => JSON.parse(post?.body ?? '').entry)
  expect(before).toMatchObject([{ id: '0', changes: [{ field: 'message_template_status_update' }] }])
  expect(after).toEqual([{ ...before[0], time: expect.any(Number) }])
  expect(after[0].time).toBeGreaterThan(before[0].time)
})

test('somebody with a user name writes by ids, without a number', async () => {
  await simulator.post('/simulator/webhook', { phoneNumberId: '7', url: webhook.url, appSecret: SECRET })
  const person = { name: 'Kim', username: 'kim.test', userId: 'US.42', parentUserId: 'US.ENT.7' }
  const { body } = await simulator.post('/simulator/inbound', { phoneNumberId: '7', ...person })
  const [post] = await eventually(() => (posts.length > 0 ? posts : undefined))
  const ids = { from_user_id: 'US.42', from_parent_user_id: 'US.ENT.7' }
  expect(JSON.parse(post?.body ?? '').entry[0].changes[0].value).toMatchObject({
    contacts: [
      { profile: { name: 'Kim', username: 'kim.test' }, user_id: 'US.42', parent_user_id: 'US.ENT.7' },
    ],
    messages: [{ id: body.id, ...ids, timestamp: expect.any(String), type: 'text', text: { body: 'Hello' } }],
  })
  expect(JSON.stringify(post)).not.toContain('wa_id')
  const nobody = await simulator.post('/simulator/inbound', { phoneNumberId: '7' })
  expect(nobody.status).toBe(400)
})

test('nothing is posted for a number without a webhook', async () => {
  const text = { messaging_product: 'whatsapp', to: '5511988887777', type: 'text', text: { body: 'hi' } }
  const { body } = await simulator.post('/v23.0/4/messages', text)
  const [silent] = body.messages as Array<{ id: string }>
  const id = await send('5')
  await eventually(() => behaviour().length === 2)
  const ids = posts.flatMap(({ statuses }) => statuses.map((status) => status.id))
  expect([new Set(ids), silent?.id]).toEqual([new Set([id]), expect.stringContaining('wamid')])
})

test('statuses can come late and without what the send carried; they say what it costs', async () => {
  const started = performance.now()
  await send('7', { unnamed: true, statusDelayMs: 200 })
  await eventually(() => behaviour().length === 2)
  expect(performance.now() - started).toBeGreaterThan(190)
  for (const status of posts.flatMap(({ statuses }) => statuses)) {
    expect(status).not.toHaveProperty('biz_opaque_callback_data')
    expect(status).toMatchObject({ pricing: { pricing_model: 'PMP', category: 'service', billable: false } })
  }
})
