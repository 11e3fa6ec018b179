import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type DispatchWorld, type SeenMessage, startDispatchWorld } from '../dispatch-world.ts'

let world: DispatchWorld
let endpoint: Listening
let asked = 0
let answer: (res: ServerResponse, sent: string) => unknown
const delivered: string[] = []

beforeAll(async () => {
  endpoint = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const sent = Buffer.concat(chunks).toString()
      if (req.url === '/handler') {
        asked++
        return void answer(res, sent)
      }
      delivered.push(JSON.parse(sent).text)
      res.writeHead(200).end('{}')
    })
  })
  world = await startDispatchWorld()
  await world.putChannel(1, {
    name: '',
    description: '',
    extId: 'handled',
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: `${endpoint.url}/handler`,
    config: { callbackUrl: `${endpoint.url}/callback` },
  })
})
afterAll(async () => {
  await world.close()
  await endpoint.close()
})
beforeEach(() => {
  asked = 0
})

const message = (thread: string, more: object = {}) => ({
  extId: 'handled',
  user: {},
  thread: { extId: thread },
  answer: {},
  ...more,
})
const message1 = JSON.stringify(message('x'))
const nested = (levels: number) => `{"submit":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`

describe('a handler that does not answer as it should makes the message dead at once, by the fault of the channel', () => {
  test.each<[string, (res: ServerResponse) => unknown, string]>([
    [
      '5 MB',
      (res) => res.end(`${message1}${' '.repeat(5_000_000)}`),
      'is larger than 1048576 bytes, or has too many values',
    ],
    ['HTML', (res) => res.setHeader('content-type', 'text/html').end('<html></html>'), 'is not JSON'],
    ['nothing', (res) => res.end(), 'is not JSON'],
    ['null', (res) => res.end('null'), 'is not a message: / is wrong'],
    [
      'another shape',
      (res) => res.end('{"extId":"x","user":[],"thread":{}}'),
      'is not a message: /user is wrong',
    ],
    [
      'a function that is a text',
      (res) => res.end(message1.replace('"answer":{}', '"answer":{"functions":["x"]}')),
      '/answer/functions/0 is wrong',
    ],
    [
      '51 functions',
      (res) =>
        res.end(
          message1.replace(
            '"answer":{}',
            `"answer":{"functions":[${Array(51).fill('{"name":"x"}').join()}]}`,
          ),
        ),
      'has more than 50 functions',
    ],
    [
      'a template without a list',
      (res) =>
        res.end(
          message1.replace(
            '"answer":{}',
            '"answer":{"functions":[{"args":{"template":"t","language":"en","variables":"x"}}]}',
          ),
        ),
      '/answer/functions/0/args/variables is wrong',
    ],
    [
      'half a million levels',
      (res) => res.end(message1.replace('"answer":{}', `"answer":${nested(100_000)}`)),
      'nests deeper than 32 levels',
    ],
    ['bytes that are no text', (res) => res.end(Buffer.from([0x7b, 0xff, 0x7d])), 'is not JSON'],
    [
      'a redirect to where secrets are',
      (res) => res.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
      'answered 302',
    ],
    [
      'a permanent redirect',
      (res) => res.writeHead(308, { location: `${endpoint.url}/handler` }).end(),
      'answered 308',
    ],
    ['that there is nothing', (res) => res.writeHead(404).end(), 'answered 404'],
  ])('%s', async (name, respond, reason) => {
    answer = respond
    await world.post(`h-${name}`, message(`h-${name}`))
    const seen = await world.message(`h-${name}`, 'dead')
    expect([seen.fault, seen.reason, asked]).toEqual(['channel', expect.stringContaining(reason), 1])
  })
})

describe('a handler in trouble', () => {
  test('that never answers is given up after 10 s and asked again, while other threads go on', async () => {
    answer = (res, sent) => {
      if (!sent.includes('"never"')) res.end(sent.replace('"answer":{}', '"answer":{"message":"fine"}'))
    }
    const started = performance.now()
    await world.post('h-never', message('never'))
    await world.post('h-beside', message('beside'))
    await world.message('h-beside', 'delivered')
    expect(performance.now() - started).toBeLessThan(9_000)
    const seen = await eventually(async () => {
      const { json } = await world.get('/rest/messages/h-never')
      const found = json as SeenMessage
      return found.attempts?.length > 0 ? found : undefined
    })
    expect(performance.now() - started).toBeGreaterThan(9_500)
    expect([seen.state, seen.attempts[0]]).toMatchObject([
      'received',
      { step: 'handler', outcome: 'uncertain', code: 'no_answer' },
    ])
    answer = (res, sent) => res.end(sent.replace('"answer":{}', '"answer":{"message":"late"}'))
    await world.message('h-never', 'delivered')
    expect(delivered).toContain('late')
  })

  test('that hangs up in the middle of its answer is asked again', async () => {
    answer = (res, sent) => {
      if (asked > 1) return res.end(sent.replace('"answer":{}', '"answer":{"message":"whole"}'))
      res.writeHead(200, { 'content-length': '1000' }).write('{"extId":', () => res.destroy())
    }
    await world.post('h-half', message('half'))
    expect((await world.message('h-half', 'delivered')).attempts[0]).toMatchObject({ code: 'no_answer' })
  })
})

describe('a handler may answer', () => {
  test.each([
    ['with the answer alone', '{"answer":{"message":"short"}}'],
    ['with its text alone', '{"message":"short"}'],
  ])('%s', async (name, body) => {
    answer = (res) => res.end(body)
    await world.post(`h-${name}`, message(`h-${name}`))
    expect((await world.message(`h-${name}`, 'delivered')).answer).toEqual({ message: 'short' })
  })

  test('nothing else alone', async () => {
    answer = (res) => res.end('{"text":"short"}')
    await world.post('h-alone', message('h-alone'))
    expect((await world.message('h-alone', 'dead')).reason).toContain('is not a message: /extId is wrong')
  })

  test('as late as its channel allows', async () => {
    await world.putChannel(2, {
      name: '',
      description: '',
      extId: 'patient',
      hook: 'whatsapp',
      callback: 'rpc',
      handlerUrl: `${endpoint.url}/handler`,
      config: { callbackUrl: `${endpoint.url}/callback`, handlerTimeoutSeconds: 1 },
    })
    answer = (res, sent) => {
      if (asked > 1) res.end(sent.replace('"answer":{}', '"answer":{"message":"in time"}'))
    }
    const started = performance.now()
    await world.post('h-impatient', { ...message('h-impatient'), extId: 'patient' })
    const seen = await world.message('h-impatient', 'delivered')
    expect(seen.attempts[0]).toMatchObject({ step: 'handler', code: 'no_answer' })
    expect(performance.now() - started).toBeLessThan(9_000)
  })
})
