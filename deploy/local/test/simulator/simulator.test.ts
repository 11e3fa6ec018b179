import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { startSimulator, template } from './running-simulator.ts'

const MESSAGES = '/v23.0/1055/messages'

let simulator: Awaited<ReturnType<typeof startSimulator>>

beforeEach(async () => {
  simulator = await startSimulator()
})

afterEach(() => simulator.stop())

describe('a send', () => {
  test('of a template gets Meta’s response and is recorded', async () => {
    const { status, body } = await simulator.post(MESSAGES, template())
    expect(status).toBe(200)
    expect(body).toEqual({
      messaging_product: 'whatsapp',
      contacts: [{ input: '+55 11 98888-7777', wa_id: '5511988887777' }],
      messages: [{ id: expect.stringMatching(/^wamid\.[\w-]{32}$/) }],
    })
    const [response] = body.messages as { id: string }[]
    const sent = await simulator.get('/simulator/sends')
    expect(sent.body).toEqual({
      data: [
        {
          n: 1,
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          id: response?.id,
          phoneNumberId: '1055',
          to: '5511988887777',
          opaque: 'message-1:0',
          type: 'template',
          template: 'welcome_offer',
          language: 'pt_BR',
          variables: ['João', '20%'],
        },
      ],
      next: 1,
    })
  })

  test('of a text is recorded with its text', async () => {
    const body = {
      messaging_product: 'whatsapp',
      to: '5511988887777',
      type: 'text',
      text: { body: 'Olá 👋' },
    }
    expect((await simulator.post(MESSAGES, body)).status).toBe(200)
    const { body: sent } = await simulator.get('/simulator/sends')
    expect(sent.data).toMatchObject([{ type: 'text', text: 'Olá 👋', opaque: null }])
  })

  test.each<[string, Record<string, string>, object]>([
    ['without a token', {}, { code: 190 }],
    ['with another scheme', { authorization: 'Basic token' }, { code: 190 }],
    ['with an expired token', { authorization: 'Bearer expired' }, { code: 190, error_subcode: 463 }],
  ])('%s is refused with 401', async (_name, headers, error) => {
    const response = await simulator.post(MESSAGES, template(), headers)
    expect(response).toMatchObject({ status: 401, body: { error: { type: 'OAuthException', ...error } } })
  })

  test.each<[string, unknown, number]>([
    ['no JSON', '{"to": ', 100],
    ['an array', [], 100],
    ['another product', template({ messaging_product: 'sms' }), 100],
    ['no recipient', template({ to: undefined }), 131008],
    ['a recipient that is no number', template({ to: 'ana' }), 131009],
    ['an unknown type', template({ type: 'fax' }), 131009],
    ['no template', template({ template: undefined }), 131008],
    ['a template without a name', template({ template: { language: { code: 'en' } } }), 131008],
    ['a template without a language', template({ template: { name: 'x' } }), 131008],
    ['a parameter without text', withParameter({ type: 'text' }), 131008],
    ['an empty parameter', withParameter({ type: 'text', text: '' }), 131008],
    ['a parameter of a wrong type', withParameter({ type: 'text', text: 7 }), 131009],
    ['a text too long', template({ type: 'text', text: { body: 'a'.repeat(4_097) } }), 131009],
  ])('with %s is refused as Meta does', async (_name, body, code) => {
    const { status, body: response } = await simulator.post(MESSAGES, body)
    expect({ status, response }).toEqual({
      status: 400,
      response: {
        error: {
          message: expect.stringContaining(`(#${code}) `),
          type: 'OAuthException',
          code,
          error_data: { messaging_product: 'whatsapp', details: expect.any(String) },
          fbtrace_id: expect.any(String),
        },
      },
    })
    expect((await simulator.get('/simulator/summary')).body).toMatchObject({ sends: 0 })
  })

  test.each(['/1055/messages', '/v23/1055/messages', '/v23.0/1055/calls'])(
    'to %s meets no path',
    async (path) => {
      const response = await simulator.post(path, template())
      expect(response).toMatchObject({ status: 400, body: { error: { code: 2500 } } })
    },
  )
})

function withParameter(parameter: object) {
  const components = [{ type: 'body', parameters: [parameter] }]
  return template({ template: { name: 'x', language: { code: 'en' }, components } })
}

describe('inspection', () => {
  test('pages through the sends, of all phone numbers or of one', async () => {
    for (let count = 0; count < 6; count++) await simulator.post(`/v23.0/${count % 2}/messages`, template())
    const ns = async (query: string) => {
      const { body } = await simulator.get(`/simulator/sends?${query}`)
      return { ns: (body.data as { n: number }[]).map(({ n }) => n), next: body.next }
    }
    expect(await ns('limit=2')).toEqual({ ns: [1, 2], next: 2 })
    expect(await ns('after=2&limit=3')).toEqual({ ns: [3, 4, 5], next: 5 })
    expect(await ns('after=6')).toEqual({ ns: [], next: 6 })
    expect(await ns('phoneNumberId=1&after=2')).toEqual({ ns: [4, 6], next: 6 })
    expect((await simulator.get('/simulator/sends?limit=10001')).status).toBe(400)
  })

  test('counts the sends, and those that came twice', async () => {
    await simulator.post(MESSAGES, template())
    await simulator.post(MESSAGES, template({ to: '5511900000000' }))
    await simulator.post('/v23.0/2000/messages', template({ biz_opaque_callback_data: 'message-2:0' }))
    expect((await simulator.get('/simulator/summary?phoneNumberId=1055')).body).toEqual({
      sends: 2,
      templates: 2,
      texts: 0,
      recipients: 2,
      repeated: 1,
      refused: {},
      dropped: 0,
      last: 3,
      webhook: { posted: 0 },
    })
  })

  test('says that the simulator is ready', async () => {
    expect(await simulator.get('/health/live')).toMatchObject({ status: 200 })
    expect(await simulator.get('/health/ready')).toMatchObject({ status: 200 })
  })
})

describe('the simulator', () => {
  const behave = (behaviour: object) => simulator.post('/simulator/behaviour', behaviour)
  const statuses = async (path: string, count: number) => {
    const seen: number[] = []
    for (let at = 0; at < count; at++) seen.push((await simulator.post(path, template())).status)
    return seen
  }

  test('fails every n-th send with the configured code, and records none of them', async () => {
    await behave({ failEvery: { n: 3, status: 429, code: 130429 } })
    expect(await statuses(MESSAGES, 6)).toEqual([200, 200, 429, 200, 200, 429])
    expect((await simulator.get('/simulator/summary')).body).toMatchObject({ sends: 4 })
  })

  test('applies a behaviour to one phone number, until another one replaces it', async () => {
    await behave({ phoneNumberId: '1', failEvery: { n: 1, status: 500, code: 131000 } })
    expect(await statuses('/v23.0/1/messages', 1)).toEqual([500])
    expect(await statuses('/v23.0/2/messages', 1)).toEqual([200])
    await behave({ phoneNumberId: '1' })
    expect(await statuses('/v23.0/1/messages', 1)).toEqual([200])
  })

  test('drops the response of every n-th send, although it recorded the send', async () => {
    await behave({ dropAnswerEvery: 2 })
    expect(await statuses(MESSAGES, 1)).toEqual([200])
    await expect(simulator.post(MESSAGES, template())).rejects.toThrow('fetch failed')
    expect((await simulator.get('/simulator/summary')).body).toMatchObject({ sends: 2 })
  })

  test('delays the response, although it recorded the send at once', async () => {
    await behave({ stallMs: 300 })
    const started = performance.now()
    expect(await statuses(MESSAGES, 1)).toEqual([200])
    expect(performance.now() - started).toBeGreaterThan(290)
  })

  test.each([{ failEvery: { n: 0, status: 500, code: 1 } }, { stallMs: -1 }, { unknown: 1 }])(
    'refuses %j',
    async (wrong) => {
      expect((await behave(wrong)).status).toBe(400)
    },
  )
})

describe('a simulator with a directory', () => {
  let directory: string

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'simulator-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  test('has all sends after a restart and continues their numbers, also after a kill in mid-line', async () => {
    const before = await startSimulator({ directory })
    for (let count = 0; count < 3; count++) await before.post(MESSAGES, template())
    const { body: stored } = await before.get('/simulator/sends')
    await before.stop()
    appendFileSync(join(directory, 'sends.jsonl'), '{"n":4,"phoneNu')

    const after = await startSimulator({ directory })
    try {
      expect((await after.get('/simulator/sends')).body).toEqual(stored)
      await after.post(MESSAGES, template())
      expect((await after.get('/simulator/sends?after=3')).body).toMatchObject({ data: [{ n: 4 }], next: 4 })
    } finally {
      await after.stop()
    }
    const again = await startSimulator({ directory })
    try {
      expect((await again.get('/simulator/summary')).body).toMatchObject({ sends: 4, last: 4 })
    } finally {
      await again.stop()
    }
  })
})
