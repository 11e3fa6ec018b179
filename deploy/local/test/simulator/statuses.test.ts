import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { startSimulator } from './running-simulator.ts'

const SECRET = 'app secret'

interface Post {
  signature: string
  body: string
  statuses: Array<{ id: string; status: string; recipient_id: string; biz_opaque_callback_data?: string }>
}

let simulator: Awaited<ReturnType<typeof startSimulator>>
let webhook: Listening
let posts: Post[]
let answer: () => number

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
      res.writeHead(answer()).end()
    })
  })
})
afterAll(async () => {
  await simulator.stop()
  await webhook.close()
})
beforeEach(() => {
  posts = []
  answer = () => 200
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
const told = () => posts.flatMap(({ statuses }) => statuses.map(({ status }) => status))

test('what becomes of a send is posted to its number’s webhook, signed', async () => {
  const id = await send('1')
  await eventually(() => (told().length === 2 ? true : undefined))
  expect(told()).toEqual(['sent', 'delivered'])
  for (const { body, signature, statuses } of posts) {
    expect(signature).toBe(`sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`)
    for (const status of statuses) {
      expect(status).toMatchObject({ id, recipient_id: '5511988887777', biz_opaque_callback_data: 'm:0' })
    }
  }
})

test('what is refused is posted again, until it is taken', async () => {
  answer = () => (posts.length < 3 ? 503 : 200)
  await send('2')
  await eventually(() => (posts.length === 3 ? true : undefined))
  expect(new Set(posts.map(({ body }) => body)).size).toBe(1)
})

test('news can come twice, in the wrong order, and say that it was read', async () => {
  await send('3', { reads: true, repeats: true, reorders: true })
  await eventually(() => (told().length === 6 ? true : undefined))
  expect(told()).toEqual(['read', 'read', 'delivered', 'delivered', 'sent', 'sent'])
})

test('of a number without a webhook nothing is posted', async () => {
  const text = { messaging_product: 'whatsapp', to: '5511988887777', type: 'text', text: { body: 'hi' } }
  const { body } = await simulator.post('/v23.0/4/messages', text)
  const [silent] = body.messages as Array<{ id: string }>
  const id = await send('5')
  await eventually(() => (told().length === 2 ? true : undefined))
  const ids = posts.flatMap(({ statuses }) => statuses.map((status) => status.id))
  expect([new Set(ids), silent?.id]).toEqual([new Set([id]), expect.stringContaining('wamid')])
})
