import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { partitionKey, REJECTED_QUEUE } from '@parley/shared/broker'
import { derivedSecret } from '@parley/shared/signing-secret'
import { connect } from 'amqplib'
import { Webhook } from 'standardwebhooks'
import { type DispatchWorld, startDispatchWorld } from './dispatch-world.ts'

interface Call {
  path: string
  headers: IncomingMessage['headers']
  text: string
  json: { id: string; type?: string; text?: string; template?: string; variables?: string[]; input?: string }
}

let world: DispatchWorld
let endpoint: Listening
let calls: Call[] = []
let respond: (call: Call, res: ServerResponse) => void

const rpc = (more: Record<string, unknown> = {}) => ({
  name: 'Support',
  description: '',
  extId: 'line',
  hook: 'whatsapp',
  callback: 'rpc',
  handlerUrl: 'native:agents/echo',
  config: { callbackUrl: `${endpoint.url}/callback` },
  ...more,
})
const text = (message: string, thread: string, extId = 'line') => ({
  extId,
  user: { phone: '+551199' },
  thread: { extId: thread },
  answer: { message },
})

beforeAll(async () => {
  endpoint = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const call = { path: req.url ?? '', headers: req.headers, text: body, json: JSON.parse(body) }
      calls.push(call)
      respond(call, res)
    })
  })
  world = await startDispatchWorld()
  await world.putChannel(1, rpc())
})
afterAll(async () => {
  await world.close()
  await endpoint.close()
})
beforeEach(() => {
  calls = []
  respond = (_call, res) => void res.writeHead(200).end('{}')
})

describe('a message with an answer', () => {
  test('is delivered: templates in order, then the text, signed and each under its own id', async () => {
    const template = {
      name: 'callback',
      args: { template: 'welcome', variables: ['Ana', '20%'], language: 'pt_BR' },
    }
    const message = { ...text('Olá! 👋', 'a'), answer: { functions: [template], message: 'Olá! 👋' } }
    await world.post('m-answer', message)
    const seen = await world.message('m-answer', 'delivered')
    expect(calls.map(({ json }) => json)).toMatchObject([
      {
        id: 'm-answer:0',
        type: 'template',
        template: 'welcome',
        variables: ['Ana', '20%'],
        language: 'pt_BR',
      },
      { id: 'm-answer:1', type: 'text', text: 'Olá! 👋' },
    ])
    const secret = derivedSecret({
      workspace: world.workspace,
      channel: 1,
      serviceKey: Buffer.alloc(32, 7).toString('base64'),
    })
    for (const { headers, text: payload } of calls) {
      expect(() => new Webhook(secret).verify(payload, headers as Record<string, string>)).not.toThrow()
    }
    expect(seen.timeline.map(({ state }) => state)).toEqual(['received', 'handled', 'sending', 'delivered'])
    expect(seen.sends.map(({ state }) => state)).toEqual(['delivered', 'delivered'])
    expect(seen.message).toEqual(message)
  })

  test('is signed with each of the secrets that the channel brings', async () => {
    const signingSecrets = ['whsec_b25lIG9mIHR3byBzZWNyZXRz', 'whsec_dGhlIG90aGVyIG9mIHR3bw==']
    const config = { callbackUrl: `${endpoint.url}/callback`, signingSecrets }
    await world.putChannel(8, rpc({ extId: 'own-secrets', config }))
    await world.post('m-secrets', text('signed twice', 'p', 'own-secrets'))
    await world.message('m-secrets', 'delivered')
    const [call] = calls
    for (const secret of signingSecrets) {
      const headers = call?.headers as Record<string, string>
      expect(() => new Webhook(secret).verify(call?.text ?? '', headers)).not.toThrow()
    }
  })

  test('that comes twice under one id is handled once', async () => {
    await world.post('m-twice', text('once', 'b'))
    await world.message('m-twice', 'delivered')
    await world.post('m-twice', text('once', 'b'))
    await world.post('m-after', text('after', 'b'))
    await world.message('m-after', 'delivered')
    expect(calls.map(({ json }) => json.text)).toEqual(['once', 'after'])
  })
})

describe('a message without an answer', () => {
  test('is answered by a built-in agent', async () => {
    await world.post('m-echo', { ...text('', 'e'), answer: {}, input: 'are you there?' })
    const seen = await world.message('m-echo', 'delivered')
    expect([seen.answer, calls[0]?.json.text]).toEqual([{ message: 'are you there?' }, 'are you there?'])
  })

  test('is dead when the built-in agent is not known, and the known ones are named', async () => {
    await world.putChannel(2, rpc({ extId: 'unknown-agent', handlerUrl: 'native:agents/oracle' }))
    await world.post('m-oracle', { ...text('', 'f', 'unknown-agent'), answer: {} })
    expect((await world.message('m-oracle', 'dead')).reason).toContain('known: echo')
  })

  test('goes to the handler by a signed POST, whose answer is sent', async () => {
    await world.putChannel(3, rpc({ extId: 'handled', handlerUrl: `${endpoint.url}/handler` }))
    const message = { ...text('', 'g', 'handled'), answer: {}, input: 'hello' }
    respond = ({ path }, res) =>
      void res
        .writeHead(200)
        .end(JSON.stringify(path === '/handler' ? { ...message, answer: { message: 'hi!' } } : {}))
    await world.post('m-handled', message)
    await world.message('m-handled', 'delivered')
    expect(calls.map(({ path, json }) => [path, json.text ?? json.input])).toEqual([
      ['/handler', 'hello'],
      ['/callback', 'hi!'],
    ])
    expect(calls[0]?.headers['webhook-id']).toBe('m-handled')
  })

  test.each([
    [
      'a redirect',
      (res: ServerResponse) => res.writeHead(302, { location: '/elsewhere' }).end(),
      'answered 302',
    ],
    ['HTML', (res: ServerResponse) => res.writeHead(200).end('<html></html>'), 'not JSON'],
    ['another shape', (res: ServerResponse) => res.writeHead(200).end('{"answer":{}}'), 'not a message'],
  ])('is dead when the handler answers with %s', async (name, answer, reason) => {
    await world.putChannel(4, rpc({ extId: 'odd', handlerUrl: `${endpoint.url}/handler` }))
    respond = (_call, res) => void answer(res)
    await world.post(`m-odd-${name}`, { ...text('', `odd-${name}`, 'odd'), answer: {} })
    const seen = await world.message(`m-odd-${name}`, 'dead')
    expect([seen.fault, seen.reason]).toEqual(['channel', expect.stringContaining(reason)])
  })
})

describe('trouble at the other side', () => {
  test('a failure is tried again under the same id, the thread in order, and other threads go on', async () => {
    const failed = new Set<string>()
    respond = ({ json }, res) => {
      const fail = json.text?.startsWith('slow') === true && !failed.has(json.id)
      failed.add(json.id)
      res.writeHead(fail ? 503 : 200).end('{}')
    }
    for (let n = 0; n < 3; n++) await world.post(`m-slow-${n}`, text(`slow ${n}`, 'slow'))
    await world.post('m-fast', text('fast', 'fast'))
    await world.message('m-fast', 'delivered')
    expect((await world.message('m-slow-2', 'delivered')).attempts.map(({ outcome }) => outcome)).toEqual([
      'retryable',
      'accepted',
    ])
    expect(calls.map(({ json }) => json.text).filter((sent) => sent !== 'fast')).toEqual(
      [0, 0, 1, 1, 2, 2].map((n) => `slow ${n}`),
    )
    expect(calls.findIndex(({ json }) => json.text === 'fast')).toBeLessThan(5)
  })

  test('a channel without order lets later messages of a thread pass one that waits', async () => {
    await world.putChannel(9, {
      ...rpc({ extId: 'unordered' }),
      config: { callbackUrl: `${endpoint.url}/callback`, ordered: false },
    })
    let open = false
    respond = ({ json }, res) => void res.writeHead(json.text === 'held' && !open ? 503 : 200).end('{}')
    for (const name of ['first', 'held', 'third', 'fourth'])
      await world.post(`m-unordered-${name}`, text(name, 'unordered', 'unordered'))
    await world.message('m-unordered-fourth', 'delivered')
    expect((await world.message('m-unordered-held', 'sending')).attempts.length).toBeGreaterThan(0)
    open = true
    await world.message('m-unordered-held', 'delivered')
    const arrived = calls.map(({ json }) => json.text)
    expect(arrived.filter((name) => name !== 'held')).toEqual(['first', 'third', 'fourth'])
    expect(arrived.indexOf('held')).toBe(1)
    expect(arrived.at(-1)).toBe('held')
  })

  test('a refusal is dead at once, with the fault, and the next message goes on', async () => {
    respond = ({ json }, res) => void res.writeHead(json.text === 'refused' ? 410 : 200).end('{}')
    await world.post('m-refused', text('refused', 'h'))
    await world.post('m-next', text('next', 'h'))
    const seen = await world.message('m-refused', 'dead')
    expect([seen.fault, seen.reason, seen.attempts.length]).toEqual([
      'channel',
      'The endpoint answered 410.',
      1,
    ])
    await world.message('m-next', 'delivered')
  })

  test('a Retry-After is kept to', async () => {
    respond = (_call, res) => void res.writeHead(429, { 'retry-after': '3600' }).end()
    await world.post('m-later', text('later', 'i'))
    const seen = await eventually(async () => {
      const { json } = await world.get('/rest/messages/m-later')
      const { due } = json as { due?: string }
      return due === undefined ? undefined : Date.parse(due)
    })
    expect(seen - Date.now()).toBeGreaterThan(3_590_000)
  })

  test.each([
    ['a channel without a callback URL', {}, 'config.callbackUrl'],
    ['a callback at a private address', { callbackUrl: 'http://10.0.0.1/x' }, 'private'],
    ['a callback at a link-local address', { callbackUrl: 'http://169.254.169.254/latest' }, 'private'],
  ])('%s makes its messages dead', async (name, config, reason) => {
    await world.putChannel(5, rpc({ extId: name, config }))
    await world.post(`m-${name}`, text('x', name, name))
    const seen = await world.message(`m-${name}`, 'dead')
    expect([seen.fault, seen.reason]).toEqual(['channel', expect.stringContaining(reason)])
  })
})

describe('routing', () => {
  test('a message for a channel that turns up a moment later is delivered', async () => {
    await world.post('m-early', text('early', 'j', 'late-line'))
    await eventually(async () =>
      (await world.get('/rest/messages/m-early')).status === 200 ? true : undefined,
    )
    await world.putChannel(6, rpc({ extId: 'late-line' }))
    await world.message('m-early', 'delivered')
  })

  test('a message for no channel is unrouted after 10 s', async () => {
    const started = Date.now()
    await world.post('m-nowhere', text('x', 'k', 'no-such-line'))
    expect((await world.message('m-nowhere', 'unrouted')).reason).toContain('no channel')
    expect(Date.now() - started).toBeGreaterThan(9_000)
  })

  test('with configuration away, known channels go on by the copy, and others wait for it', async () => {
    await world.putChannel(7, rpc({ extId: 'only-told-of' }))
    await world.held('channels', 7)
    await world.configuration.stop()
    await world.post('m-waiting', text('waiting', 'l', 'not-held'))
    await world.post('m-copy', text('copy', 'm'))
    await world.post('m-told', text('told', 'm', 'only-told-of'))
    await world.message('m-told', 'delivered')
    expect(calls.map(({ json }) => json.text)).toEqual(['copy', 'told'])
    await world.configuration.start()
    await world.putChannel(9, rpc({ extId: 'not-held' }))
    await world.message('m-waiting', 'delivered')
  })
})

describe('replay', () => {
  test('runs a dead message again once its cause is mended, and sends only what did not get there', async () => {
    const template = { name: 'f', args: { template: 'first', language: 'en' } }
    respond = ({ json }, res) => void res.writeHead(json.type === 'text' ? 410 : 200).end('{}')
    await world.post('m-replay', {
      ...text('', 'replay'),
      answer: { functions: [template], message: 'second' },
    })
    await world.message('m-replay', 'dead')
    respond = (_call, res) => void res.writeHead(200).end('{}')
    expect(await world.call('POST', '/rest/messages/m-replay/replay')).toMatchObject({ status: 200 })
    const seen = await world.message('m-replay', 'delivered')
    expect(calls.map(({ json }) => json.id)).toEqual(['m-replay:0', 'm-replay:1', 'm-replay:1'])
    expect([seen.reason, seen.fault]).toEqual([undefined, undefined])
  })

  test('is refused for what is not at a bad end, and for what is not there', async () => {
    await world.post('m-fine', text('fine', 'replay-2'))
    await world.message('m-fine', 'delivered')
    const refused = await world.call('POST', '/rest/messages/m-fine/replay')
    expect(refused).toMatchObject({ status: 409, json: { code: 'not_replayable' } })
    expect((await world.call('POST', '/rest/messages/nothing/replay')).status).toBe(404)
    expect((await world.call('POST', '/rest/messages/replay', { status: 'sent' })).status).toBe(409)
    expect((await world.call('POST', '/rest/messages/replay', { name: 'x' })).status).toBe(422)
    expect((await world.call('GET', '/rest/messages/replay')).status).toBe(405)
  })

  test('of many takes each once, in order, and only those that the filter picks', async () => {
    respond = (_call, res) => void res.writeHead(410).end('{}')
    const ids = Array.from({ length: 50 }, (_, n) => `m-many-${n}`)
    for (const id of ids) await world.post(id, text(id, 'many'))
    await world.post('m-others', text('other', 'others'))
    for (const id of [...ids, 'm-others']) await world.message(id, 'dead')
    calls = []
    respond = (_call, res) => void res.writeHead(200).end('{}')
    const first = await world.call('POST', '/rest/messages/replay', { thread: 'many', limit: 20 })
    expect(first.json).toEqual({ replayed: 20, more: true })
    await world.message('m-many-19', 'delivered')
    const rest = await world.call('POST', '/rest/messages/replay', { thread: 'many', status: 'dead' })
    expect(rest.json).toEqual({ replayed: 30, more: false })
    await world.message('m-many-49', 'delivered')
    expect(calls.map(({ json }) => json.text)).toEqual(ids)
    expect((await world.message('m-others', 'dead')).fault).toBe('channel')
  })

  test('asked for twice at once runs a message once', async () => {
    respond = (_call, res) => void res.writeHead(410).end('{}')
    await world.post('m-both', text('both', 'both'))
    await world.message('m-both', 'dead')
    calls = []
    respond = (_call, res) => void res.writeHead(200).end('{}')
    await Promise.all([1, 2, 3].map(() => world.call('POST', '/rest/messages/m-both/replay')))
    await world.message('m-both', 'delivered')
    await world.post('m-both-after', text('after', 'both'))
    await world.message('m-both-after', 'delivered')
    expect(calls.map(({ json }) => json.text)).toEqual(['both', 'after'])
  })
})

describe('what can not be stored', () => {
  test.each([
    [
      'of a later version',
      { type: 'message.received.v2' },
      JSON.stringify(text('x', 'n')),
      'unknown message type',
    ],
    ['of another shape', {}, '{"extId":1}', 'body field /extId'],
    ['that is not JSON', {}, '{', 'body field /'],
    [
      'of no workspace',
      { headers: { channel: 'line' } },
      JSON.stringify(text('x', 'n')),
      'headers.workspace',
    ],
  ])(
    'a message %s goes to the rejected ones with the reason, and the partition goes on',
    async (name, change, body, reason) => {
      const connection = await connect(world.amqpUrl)
      const channel = await connection.createChannel()
      const headers = { workspace: world.workspace, channel: 'line', thread: 'n', source: 'api' }
      channel.publish('messages', partitionKey(0), Buffer.from(body), {
        messageId: `bad ${name}`,
        type: 'message.received.v1',
        headers,
        ...change,
      })
      const rejected = await eventually(
        async () => (await channel.get(REJECTED_QUEUE, { noAck: true })) || undefined,
      )
      expect(rejected.properties.messageId).toBe(`bad ${name}`)
      expect(rejected.properties.headers?.reason).toContain(reason)
      expect(rejected.content.toString()).toBe(body)
      await connection.close()
    },
  )

  test('fields that a later version adds do no harm', async () => {
    const message = { ...text('more', 'o'), extra: { a: 1 }, user: { phone: '1', vip: true } }
    await world.post('m-more', message)
    expect((await world.message('m-more', 'delivered')).message).toEqual(message)
  })
})

describe('the message log', () => {
  test('lists newest first, by pages, filtered, without contents', async () => {
    for (let n = 0; n < 5; n++) {
      await world.post(`m-list-${n}`, text(`secret ${n}`, 'listed'))
      await world.message(`m-list-${n}`, 'delivered')
    }
    const ids: string[] = []
    let after = ''
    for (let page = 0; page < 3; page++) {
      const { json } = await world.get(`/rest/messages?thread=listed&status=delivered&limit=2${after}`)
      const { data, next } = json as { data: Array<{ _id: string }>; next: string | null }
      expect(JSON.stringify(data)).not.toContain('secret')
      ids.push(...data.map(({ _id }) => _id))
      after = `&after=${next}`
      if (page === 2) expect(next).toBeNull()
    }
    expect(ids).toEqual([4, 3, 2, 1, 0].map((n) => `m-list-${n}`))
  })

  test.each([
    'status=gone',
    'limit=0',
    'limit=201',
    'after=x',
    'after=WzEsMl0',
    'from=yesterday',
    'name=x',
    'thread[$ne]=x',
  ])('refuses %s', async (query) => {
    expect((await world.get(`/rest/messages?${query}`)).status).toBe(422)
  })

  test('shows nothing of another workspace', async () => {
    const other = { workspace: world.workspace + 1_000 }
    expect((await world.get('/rest/messages/m-list-0', other)).status).toBe(404)
    expect((await world.get('/rest/messages', other)).json).toEqual({ data: [], next: null })
    expect((await world.get('/rest/messages/nothing')).status).toBe(404)
  })
})
