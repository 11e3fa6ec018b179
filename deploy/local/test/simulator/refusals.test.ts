import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startSimulator, template } from './running-simulator.ts'

let simulator: Awaited<ReturnType<typeof startSimulator>>
let number = 5_000

beforeAll(async () => {
  simulator = await startSimulator()
})
afterAll(() => simulator.stop())

/** A phone number that nobody has used, which behaves as told. */
async function newNumber(behaviour: object = {}) {
  const phoneNumberId = String(++number)
  await simulator.post('/simulator/behaviour', { phoneNumberId, ...behaviour })
  const send = (body: object) => simulator.post(`/v23.0/${phoneNumberId}/messages`, body)
  return {
    phoneNumberId,
    send,
    codes: async (bodies: object[]) => {
      const seen: unknown[] = []
      for (const body of bodies) {
        const response = await send(body)
        seen.push(response.status === 200 ? 200 : (response.body.error as { code: number }).code)
      }
      return seen
    },
    refused: async () =>
      (await simulator.get(`/simulator/summary?phoneNumberId=${phoneNumberId}`)).body.refused,
  }
}

function templated({
  name,
  language = 'pt_BR',
  texts = [] as string[],
}: Record<string, unknown> & { name: string; texts?: string[] }) {
  const parameters = texts.map((text) => ({ type: 'text', text }))
  const components = parameters.length > 0 ? [{ type: 'body', parameters }] : []
  return template({ template: { name, language: { code: language }, components } })
}
const text = (to: string, overrides: object = {}) =>
  template({ to, type: 'text', template: undefined, text: { body: 'hi' }, ...overrides })

describe('what a template was made with', () => {
  const link = 'https://example.com/a.pdf'
  const body = { type: 'body', parameters: [{ type: 'text', text: '1' }] }
  const named = { type: 'body', parameters: [{ type: 'text', text: '1', parameter_name: 'customer_name' }] }
  const button = { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: '1' }] }
  const above = (parameter: object) => ({ type: 'header', parameters: [parameter] })

  test.each([
    ['login_code', [body, button], 200],
    ['login_code', [body, { ...button, index: 0, sub_type: 'URL' }], 200],
    ['login_code', [body], 131008],
    ['login_code', [body, { ...button, parameters: [] }], 131008],
    ['login_code', [body, { ...button, index: '1' }], 131008],
    ['login_code', [body, { ...button, sub_type: 'phone_number' }], 131009],
    ['invoice', [body, above({ type: 'document', document: { link, filename: 'a.pdf' } })], 200],
    ['invoice', [body], 132012],
    ['invoice', [body, above({ type: 'image', image: { link } })], 132012],
    ['invoice', [body, above({ type: 'document', document: {} })], 131008],
    ['invoice_named', [named], 200],
    ['invoice_named', [body], 100],
  ])('is sent with it: %s with %j is answered with %d', async (name, components, code) => {
    const line = await newNumber()
    const sent = template({ template: { name, language: { code: 'en' }, components } })
    expect(await line.codes([sent])).toEqual([code])
  })
})

describe('a template', () => {
  test.each([
    ['with its parameters', { name: 'welcome_offer', texts: ['João', '20%'] }, 200],
    ['in any language where none is named', { name: 'order_update', language: 'de', texts: ['a', 'b'] }, 200],
    ['with one parameter too few', { name: 'welcome_offer', texts: ['João'] }, 132000],
    ['with one too many', { name: 'order_update', texts: ['a', 'b', 'c'] }, 132000],
    ['without parameters', { name: 'hello_world', language: 'en_US' }, 200],
    ['in a language that it is not in', { name: 'hello_world', language: 'pt_BR' }, 132001],
    ['that nobody registered is taken as it is', { name: 'of_my_own', texts: ['a'] }, 200],
  ])('%s', async (_name, sent, expected) => {
    expect(await (await newNumber()).codes([templated(sent)])).toEqual([expected])
  })

  test('that is not registered is refused when the behaviour is strict', async () => {
    const line = await newNumber({ strictTemplates: true })
    expect(
      await line.codes([
        templated({ name: 'of_nobody' }),
        templated({ name: 'order_update', texts: ['a', 'b'] }),
      ]),
    ).toEqual([132001, 200])
  })

  test('can be registered, and replaced', async () => {
    const line = await newNumber({ strictTemplates: true })
    const register = (body: object) => simulator.post('/simulator/templates', body)
    expect((await register({ name: 'invoice', languages: ['en'], parameters: 1 })).status).toBe(200)
    const sent = templated({ name: 'invoice', language: 'en', texts: ['7'] })
    expect(await line.codes([sent, templated({ name: 'invoice', texts: ['7'] })])).toEqual([200, 132001])
    await register({ name: 'invoice', parameters: 2 })
    expect(await line.codes([sent])).toEqual([132000])
    const { body } = await simulator.get('/simulator/templates')
    expect(body.data).toContainEqual({ name: 'invoice', parameters: 2 })
    expect((await register({ name: 'invoice' })).status).toBe(400)
  })
})

describe('what there is to choose from', () => {
  const reply = (title: string) => ({ type: 'reply', reply: { id: title, title } })
  const sent = (buttons: object[]) => ({
    ...text('5511900000001', { text: undefined }),
    type: 'interactive',
    interactive: { type: 'button', body: { text: 'Which?' }, action: { buttons } },
  })

  test('is three buttons at most, with titles of 20 characters', async () => {
    const line = await newNumber()
    expect(
      await line.codes([
        sent(['a', 'b', 'c'].map(reply)),
        sent(['a', 'b', 'c', 'd'].map(reply)),
        sent([reply('x'.repeat(21))]),
        sent([reply('')]),
      ]),
    ).toEqual([200, 131009, 131009, 131008])
  })
})

test('a number says how many messages it may send a second, and takes no more', async () => {
  const line = await newNumber({ messagesPerSecond: 20 })
  const people = Array.from({ length: 30 }, (_, n) => `55119000001${n}`)
  const responses = await Promise.all(people.map((to) => line.send(text(to))))
  expect(responses.filter(({ status }) => status === 200).length).toBeLessThan(30)
  expect(await line.refused()).toEqual({ '130429': expect.any(Number) })
  const numberOf = async ({ phoneNumberId }: { phoneNumberId: string }) => {
    const headers = { authorization: 'Bearer token' }
    return (await fetch(`${simulator.url}/v26.0/${phoneNumberId}`, { headers })).json()
  }
  expect(await numberOf(line)).toMatchObject({ is_on_biz_app: true, platform_type: 'CLOUD_API' })
  const fast = await newNumber({ messagesPerSecond: 1_000 })
  expect(await numberOf(fast)).toMatchObject({ throughput: { level: 'HIGH' } })
})

describe('the 24 hours after a person wrote', () => {
  const HOUR_MS = 3_600_000
  const wrote = (phoneNumberId: string, from: string, hoursAgo: number) =>
    simulator.post('/simulator/inbound', {
      phoneNumberId,
      from,
      at: new Date(Date.now() - hoursAgo * HOUR_MS).toISOString(),
    })

  test('allow texts to that person and from that number only; templates are always allowed', async () => {
    const line = await newNumber({ customerWindow: true })
    await wrote(line.phoneNumberId, '5511900000001', 23.9)
    await wrote(line.phoneNumberId, '5511900000002', 24.1)
    const other = await newNumber({ customerWindow: true })
    expect(
      await line.codes([text('+55 11 90000-0001'), text('5511900000002'), text('5511900000003')]),
    ).toEqual([200, 131047, 131047])
    expect(await other.codes([text('5511900000001')])).toEqual([131047])
    expect(await line.codes([template({ to: '5511900000002' })])).toEqual([200])
  })

  test('start again with the newest message, also when an older one comes later', async () => {
    const line = await newNumber({ customerWindow: true })
    for (const hours of [30, 1, 40]) await wrote(line.phoneNumberId, '5511900000001', hours)
    expect(await line.codes([text('5511900000001')])).toEqual([200])
  })

  test('do not matter unless they are switched on', async () => {
    expect(await (await newNumber()).codes([text('5511900000009')])).toEqual([200])
  })
})

test('a person gets at most 45 messages at once', async () => {
  const line = await newNumber()
  const codes = await line.codes(Array.from({ length: 50 }, () => template()))
  expect(codes.slice(0, 45)).toEqual(Array.from({ length: 45 }, () => 200))
  expect(codes.slice(45)).toEqual(Array.from({ length: 5 }, () => 131056))
  expect(await line.refused()).toEqual({ '131056': 5 })
  expect(await line.codes([template({ to: '5511911111111' })])).toEqual([200])
})

describe('configured failures', () => {
  const failure = { status: 500, code: 131000 }
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => text(`55119${String(n).padStart(8, '0')}`))

  test('affect the sends that they are for, and the first that matches decides', async () => {
    const line = await newNumber({
      failures: [
        { status: 400, code: 131026, to: ['5511900000001'] },
        { ...failure, to: ['5511900000001', '5511900000002'] },
      ],
    })
    const people = ['5511900000001', '5511900000002', '5511900000003']
    expect(await line.codes(people.map((to) => text(to)))).toEqual([131026, 131000, 200])
  })

  test('affect about their share, and the same sends for the same seed', async () => {
    const run = async (seed: number) => {
      const line = await newNumber({ seed, failures: [{ ...failure, share: 0.25 }] })
      return line.codes(many(60))
    }
    const [first, again, other] = [await run(7), await run(7), await run(8)]
    const failed = first.filter((code) => code !== 200).length
    expect(failed).toBeGreaterThan(4)
    expect(failed).toBeLessThan(30)
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    expect(await (await newNumber({ failures: [{ ...failure, share: 1 }] })).codes(many(5))).toEqual(
      Array(5).fill(131000),
    )
    expect(await (await newNumber({ failures: [{ ...failure, share: 0 }] })).codes(many(5))).toEqual(
      Array(5).fill(200),
    )
  })

  test('send Retry-After', async () => {
    const line = await newNumber({
      failures: [{ status: 429, code: 130429, retryAfterSeconds: 7, share: 1 }],
    })
    const response = await fetch(`${simulator.url}/v23.0/${line.phoneNumberId}/messages`, {
      method: 'POST',
      headers: { authorization: 'Bearer token' },
      body: JSON.stringify(template()),
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7'])
  })

  test('a share of the responses is late and a share never comes, although all sends were recorded', async () => {
    const line = await newNumber({
      stalls: [{ ms: 200, to: ['5511900000001'] }],
      dropAnswers: [{ to: ['5511900000002'] }],
    })
    const started = performance.now()
    expect(await line.codes([text('5511900000001')])).toEqual([200])
    expect(performance.now() - started).toBeGreaterThan(190)
    await expect(line.send(text('5511900000002'))).rejects.toThrow('fetch failed')
    const { body } = await simulator.get(`/simulator/summary?phoneNumberId=${line.phoneNumberId}`)
    expect(body).toMatchObject({ sends: 2, refused: {}, dropped: 1 })
  })

  test.each([
    { failures: [{ status: 200, code: 1 }] },
    { failures: [{ status: 500, code: 1, share: 1.1 }] },
    { dropAnswers: [{ to: ['+55'] }] },
    { stalls: [{}] },
  ])('%j is no behaviour', async (wrong) => {
    expect((await simulator.post('/simulator/behaviour', wrong)).status).toBe(400)
  })
})
