import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { buildSimulator } from '@parley/local/simulator/app'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { fileName, safeType, typeOf } from '../../src/channels/media/media-bytes.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'

const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.from([0, 1, 2])])

describe('GET /rest/messages/{id}/media', () => {
  let world: DispatchWorld
  let simulator: Awaited<ReturnType<typeof buildSimulator>>
  let whatsapp: Listening
  let got: Record<string, unknown>[] = []
  let hook: Listening

  beforeAll(async () => {
    simulator = await buildSimulator({})
    whatsapp = await listen(simulator.app)
    hook = await listen((req, res) => {
      let text = ''
      req.on('data', (chunk) => (text += chunk))
      req.on('end', () => {
        got.push(...(JSON.parse(text).entry[0].changes[0].value.messages ?? []))
        res.writeHead(200).end()
      })
    })
    world = await startDispatchWorld()
    await world.putChannel(1, {
      ...{ name: '', description: '', hook: 'whatsapp', callback: 'whatsapp', extId: 'line' },
      handlerUrl: 'native:agents/none',
      config: { phoneNumberId: '1', accessToken: 't', apiUrl: `${whatsapp.url}/v23.0` },
    })
    await control('webhook', { phoneNumberId: '1', url: hook.url, appSecret: 's' })
  })
  afterAll(async () => {
    await world.close()
    await simulator.close()
    await whatsapp.close()
    await hook.close()
  })

  async function control(path: string, body: object): Promise<void> {
    const response = await fetch(`${whatsapp.url}/simulator/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(await response.text())
  }

  /** Sends a person's message by the simulator, which is stored as the webhook stores it. */
  async function sent(id: string, message: object, media?: { base64: string; mimeType: string }) {
    got = []
    await control('inbound', { phoneNumberId: '1', from: '5511988887777', message, ...(media && { media }) })
    const meta = await eventually(async () => got[0])
    await world.post(id, { extId: 'line', user: {}, thread: {}, answer: {}, meta }, { source: 'meta' })
    await eventually(async () => (await world.get(`/rest/messages/${id}`)).status === 200)
  }

  test.each([
    ['image', 'image/png', undefined, '.png'],
    ['sticker', 'image/webp', undefined, '.webp'],
    ['video', 'video/mp4', undefined, '.mp4'],
    ['audio', 'audio/ogg; codecs=opus', undefined, '.ogg'],
    ['document', 'application/pdf', 'Bill of May.pdf', 'Bill_of_May.pdf'],
  ])(
    'hands out the bytes of a message of type %s, with its type and a name',
    async (type, mimeType, filename, name) => {
      const content = { type, [type]: { caption: 'See', ...(filename && { filename }) } }
      await sent(`media-${type}`, content, { base64: PNG.toString('base64'), mimeType })
      const { status, headers, bytes } = await world.bytes(`/rest/messages/media-${type}/media`)
      expect([status, bytes]).toEqual([200, PNG])
      expect(headers.get('content-type')).toBe(mimeType)
      expect(headers.get('content-disposition')).toContain(name)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    },
  )

  test.each([
    ['location', { latitude: -23.5, longitude: -46.6, name: 'Office' }],
    ['contacts', [{ name: { formatted_name: 'Rui' }, phones: [{ phone: '+55 11' }] }]],
    ['interactive', { type: 'button_reply', button_reply: { id: 'yes', title: 'Yes' } }],
    ['reaction', { message_id: 'wamid.1', emoji: '👍' }],
  ])('answers with JSON for a message of type %s', async (type, content) => {
    await sent(`json-${type}`, { type, [type]: content })
    expect(await world.get(`/rest/messages/json-${type}/media`)).toEqual({
      status: 200,
      json: { type, [type]: content },
    })
  })

  test('has none for a text, for what a caller says is of Meta, and for what Meta has no more', async () => {
    await sent('media-text', { type: 'text', text: { body: 'Hi' } })
    expect((await world.get('/rest/messages/media-text/media')).status).toBe(404)
    const meta = { type: 'image', image: { id: '4711' } }
    const message = { extId: 'line', user: {}, thread: {}, answer: {}, meta }
    await world.post('media-forged', message)
    await world.post('media-gone', message, { source: 'meta' })
    for (const id of ['media-forged', 'media-gone']) {
      await eventually(async () => (await world.get(`/rest/messages/${id}`)).status === 200)
      expect((await world.get('/rest/messages/media-forged/media')).status).toBe(404)
    }
    // The simulator takes any number for a phone number, which is no media.
    expect((await world.get('/rest/messages/media-gone/media')).status).toBe(502)
  })
})

describe('media that take long to fetch', () => {
  let world: DispatchWorld
  let slow: Listening
  const asked: string[] = []

  beforeAll(async () => {
    slow = await listen((req, res) => {
      asked.push(`${req.url}`)
      // One that is quick says where the bytes are, and has them.
      if (`${req.url}`.endsWith('/quick'))
        return void res
          .setHeader('content-type', 'application/json')
          .end(JSON.stringify({ url: `${slow.url}/bytes`, mime_type: 'image/png' }))
      if (`${req.url}`.endsWith('/bytes')) return void res.end(PNG)
      res.writeHead(200).write(' ')
    })
    world = await startDispatchWorld()
    const channel = {
      ...{ name: '', description: '', hook: 'whatsapp', callback: 'whatsapp', extId: 'line' },
      handlerUrl: 'native:agents/none',
      config: { phoneNumberId: '1', accessToken: 't', apiUrl: slow.url },
    }
    const rpc = { ...channel, hook: 'rpc', extId: 'rpc' }
    for (const [at, workspace] of [world.workspace, world.workspace + 1].entries()) {
      await world.putChannel(10 + at, channel, { workspace })
      await world.putChannel(20 + at, rpc, { workspace })
    }
  })
  afterAll(async () => {
    await world.close()
    await slow.close()
  })

  async function store(id: string, message: object, options: { workspace: number; source: 'api' | 'meta' }) {
    await world.post(id, { extId: 'line', user: {}, thread: {}, answer: {}, ...message }, options)
    const { workspace } = options
    await eventually(async () => (await world.get(`/rest/messages/${id}`, { workspace })).status === 200)
  }

  test('take no room from another workspace, and none from what is in the message itself', async () => {
    const [eve, bob] = [world.workspace, world.workspace + 1]
    const image = (id: string) => ({ meta: { type: 'image', image: { id } } })
    await store('eve', image('hangs'), { workspace: eve, source: 'meta' })
    await store('bob', image('quick'), { workspace: bob, source: 'meta' })
    const audio = Buffer.from('OggS').toString('base64')
    await store('inline', { audio }, { workspace: eve, source: 'api' })
    const eves = Array.from({ length: 40 }, () => world.bytes('/rest/messages/eve/media'))
    await eventually(async () => asked.filter((url) => url.endsWith('/hangs')).length >= 8)
    const began = performance.now()
    for (let n = 0; n < 5; n++) {
      const own = await world.bytes('/rest/messages/bob/media', { workspace: bob })
      expect([own.status, own.bytes]).toEqual([200, PNG])
      expect((await world.bytes('/rest/messages/inline/audio')).status).toBe(200)
    }
    expect(performance.now() - began).toBeLessThan(3_000)
    const statuses = (await Promise.all(eves)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([429, 504]))
    expect(asked.filter((url) => url.endsWith('/hangs')).length).toBeLessThan(40)
  })
})

test('a type that a browser runs is handed out as bytes of no type', () => {
  for (const type of ['text/html', 'image/svg+xml', 'application/xhtml+xml', 'application/javascript'])
    expect(safeType(type)).toBeUndefined()
  expect(typeOf(PNG)).toBe('image/png')
})

test('a file is named as the person named it, as far as a header takes it', () => {
  expect(fileName('m', 'application/pdf', 'Bill "of"\r\nMay.pdf')).toBe('Bill_of_May.pdf')
  expect(fileName('m', 'application/pdf', '???')).toBe('m.pdf')
})
