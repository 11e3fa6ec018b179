import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Listening, listen, type Parsed } from '@parley/local/testing/service-under-test'
import { startTcpProxy, type TcpProxy } from '@parley/local/testing/tcp-proxy'
import { testServers } from '@parley/local/testing/test-servers'
import type { WebhookMessage } from '@parley/shared/message'
import { Webhook } from 'standardwebhooks'
import { type DispatchWorld, startDispatchWorld } from './dispatch-world.ts'

interface Call {
  method: string
  path: string
  headers: IncomingMessage['headers']
  text: string
}

const SECRET = 'whsec_b25lIG9mIHR3byBzZWNyZXRz'
let world: DispatchWorld
let broker: TcpProxy
let endpoint: Listening
let calls: Call[] = []
let respond: (call: Call, res: ServerResponse) => void

const specOf = (server = endpoint.url) => `
openapi: 3.1.0
info: { title: Orders, version: '1' }
servers: [{ url: '${server}/v1' }]
paths:
  /orders/{order}/refund:
    post:
      operationId: refund
      parameters: [{ name: order, in: path, required: true, schema: { type: string } }]
      requestBody:
        required: true
        content: { application/json: { schema: { type: object, required: [amount], properties: { amount: { type: number } } } } }
`
const action = (more: object = {}) => ({
  ...{ name: 'Orders', description: '', specType: 'openapi3-yaml', moduleUrl: 'native:request' },
  spec: specOf(),
  ...more,
})
const assistant = (more: object) => ({ name: '', description: '', backstory: '', ...more })
const channel = (extId: string, assistantId: number, more: object = {}) => ({
  ...{
    name: '',
    description: '',
    extId,
    hook: 'whatsapp',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
  },
  config: { callbackUrl: `${endpoint.url}/callback`, assistantId, signingSecrets: [SECRET] },
  ...more,
})
const message = (extId: string, answer: WebhookMessage['answer'], thread = extId) => ({
  extId,
  user: {},
  thread: { extId: thread },
  answer,
})
const refund = { name: 'refund', args: { order: 'o 1', amount: 5 } }
const paths = () => calls.map(({ path }) => path)

beforeAll(async () => {
  endpoint = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { method = '', url = '', headers } = req
      const call = { method, path: url, headers, text: Buffer.concat(chunks).toString() }
      calls.push(call)
      respond(call, res)
    })
  })
  const { hostname, port } = new URL((await testServers()).amqpUrl)
  broker = await startTcpProxy({ host: hostname, port: Number(port) })
  const proxied = new URL((await testServers()).amqpUrl)
  proxied.port = String(broker.port)
  proxied.hostname = '127.0.0.1'
  world = await startDispatchWorld({ AMQP_URL: proxied.href })
  await world.put('actions', 1, action())
  await world.put('assistant', 1, assistant({ actions: [1] }))
  await world.putChannel(1, channel('shop', 1))
})
afterAll(async () => {
  await world.close()
  await broker.close()
  await endpoint.close()
})
beforeEach(() => {
  calls = []
  respond = (_call, res) => void res.writeHead(200).end('{}')
})

describe('a function of an answer', () => {
  test('calls the operation of an action, in its place among the sends', async () => {
    const template = { name: 'callback', args: { template: 'hello', language: 'en' } }
    await world.post('f-order', message('shop', { functions: [template, refund], message: 'done' }))
    const seen = await world.message('f-order', 'delivered')
    expect(paths()).toEqual(['/callback', '/v1/orders/o%201/refund', '/callback'])
    const [, call] = calls
    expect(call).toMatchObject({ method: 'POST', text: '{"amount":5}' })
    expect(call?.headers).toMatchObject({
      'idempotency-key': 'f-order:1',
      'content-type': 'application/json',
    })
    expect(call?.headers['webhook-signature']).toBeUndefined()
    expect(seen.sends[1]).toMatchObject({ state: 'delivered', content: { kind: 'function', name: 'refund' } })
    expect(seen.attempts.map(({ step, outcome }) => [step, outcome])).toEqual(
      [0, 1, 2].map((n) => [`f-order:${n}`, 'accepted']),
    )
  })

  test("is found among those of the assistant's job", async () => {
    await world.put('jobs', 2, { role: '', goal: '', description: '', actions: [1] })
    await world.put('assistant', 2, assistant({ job: 2 }))
    await world.putChannel(2, channel('by-job', 2))
    await world.post('f-job', message('by-job', { functions: [refund] }))
    await world.message('f-job', 'delivered')
    expect(paths()).toEqual(['/v1/orders/o%201/refund'])
  })

  test('of an action with a module is sent there, signed', async () => {
    await world.put('actions', 3, action({ moduleUrl: `${endpoint.url}/module` }))
    await world.put('assistant', 3, assistant({ actions: [3] }))
    await world.putChannel(3, channel('module', 3))
    await world.post('f-module', message('module', { functions: [refund] }))
    await world.message('f-module', 'delivered')
    const [call] = calls
    expect([call?.method, call?.path, call?.headers['idempotency-key']]).toEqual([
      'POST',
      '/module',
      'f-module:0',
    ])
    const payload: Parsed = new Webhook(SECRET).verify(
      call?.text ?? '',
      call?.headers as Record<string, string>,
    )
    expect(payload).toMatchObject({
      ...{ id: 'f-module:0', messageId: 'f-module', action: 3, operationId: 'refund' },
      args: refund.args,
    })
  })

  test('that fails is called again under the same key, and what came before is not', async () => {
    respond = ({ path }, res) =>
      void res.writeHead(path === '/callback' || calls.length > 2 ? 200 : 503).end()
    const template = { args: { template: 'hello', language: 'en' } }
    await world.post('f-again', message('shop', { functions: [template, refund] }))
    await world.message('f-again', 'delivered')
    expect(paths()).toEqual(['/callback', '/v1/orders/o%201/refund', '/v1/orders/o%201/refund'])
    expect(calls.slice(1).map(({ headers }) => headers['idempotency-key'])).toEqual([
      'f-again:1',
      'f-again:1',
    ])
  })

  test('that answers with more than anybody reads has been called', async () => {
    respond = (_call, res) => void res.writeHead(200).end('x'.repeat(5_000_000))
    await world.post('f-large', message('shop', { functions: [refund] }))
    await world.message('f-large', 'delivered')
    expect(calls.length).toBe(1)
  })

  test('that was configured only a moment later is called', async () => {
    await world.putChannel(4, channel('early', 4))
    await world.post('f-early', message('early', { functions: [refund] }))
    await eventually(async () =>
      (await world.get('/rest/messages/f-early')).status === 200 ? true : undefined,
    )
    await world.put('assistant', 4, assistant({ actions: [4] }))
    await world.put('actions', 4, action())
    await world.message('f-early', 'delivered')
  })

  test('of a handler that answered once is not asked for again while it is looked for', async () => {
    await world.putChannel(5, channel('asked', 5, { handlerUrl: `${endpoint.url}/handler` }))
    respond = ({ path, text }, res) => {
      const answer = path === '/handler' ? { ...JSON.parse(text), answer: { functions: [refund] } } : {}
      res.writeHead(200).end(JSON.stringify(answer))
    }
    await world.post('f-asked', message('asked', {}))
    await eventually(() => (calls.length > 0 ? true : undefined))
    await world.put('assistant', 5, assistant({ actions: [1] }))
    await world.message('f-asked', 'delivered')
    expect(paths()).toEqual(['/handler', '/v1/orders/o%201/refund'])
  })
})

describe('a function that can not be called makes its message dead before anything leaves', () => {
  const rows: Array<
    [string, { spec?: () => string; module?: string; call?: object; seen: [string, string] }]
  > = [
    [
      'an argument is missing',
      { call: { args: { order: 'o' } }, seen: ['caller', 'the argument /amount is missing'] },
    ],
    [
      'an argument does not fit',
      {
        call: { args: { order: 'o', amount: 'five' } },
        seen: ['caller', 'the argument /amount breaks "type"'],
      },
    ],
    ['nobody knows it', { call: { name: 'repeal' }, seen: ['channel', 'has an operation named "repeal"'] }],
    [
      'its spec is none',
      {
        spec: () => 'a: [',
        seen: ['channel', 'has an operation named "refund". The spec of action 23 is no YAML.'],
      },
    ],
    [
      'its module is neither native nor http(s)',
      { module: 'native:eval', seen: ['channel', 'is neither native:request nor an http(s) URL'] },
    ],
  ]
  test.each(rows.map((row, n) => [...row, 20 + n] as const))(
    '%s',
    async (name, { spec, module, call, seen: [fault, reason] }, id) => {
      const more = { ...(spec && { spec: spec() }), ...(module && { moduleUrl: module }) }
      await world.put('actions', id, action(more))
      await world.put('assistant', id, assistant({ actions: [id] }))
      await world.putChannel(id, channel(`bad ${name}`, id))
      const functions = [{ args: { template: 'hello', language: 'en' } }, { ...refund, ...call }]
      await world.post(`f-bad-${name}`, message(`bad ${name}`, { functions, message: 'x' }))
      const dead = await world.message(`f-bad-${name}`, 'dead')
      expect([dead.fault, dead.reason]).toEqual([fault, expect.stringContaining(reason)])
      expect(calls).toEqual([])
    },
  )

  test('but once the spec is mended, it can be run again', async () => {
    await world.put('actions', 9, action({ spec: 'a: [' }))
    await world.put('assistant', 9, assistant({ actions: [9] }))
    await world.putChannel(9, channel('mended', 9))
    await world.post('f-mended', message('mended', { functions: [refund] }))
    await world.message('f-mended', 'dead')
    await world.put('actions', 9, action())
    expect((await world.call('POST', '/rest/messages/f-mended/replay')).status).toBe(200)
    await world.message('f-mended', 'delivered')
  })

  test.each([
    ['http://10.0.0.1', 30],
    ['http://169.254.169.254', 31],
  ])('a server at %s is refused', async (server, id) => {
    await world.put('actions', id, action({ spec: specOf(server) }))
    await world.put('assistant', id, assistant({ actions: [id] }))
    await world.putChannel(id, channel(server, id))
    await world.post(`f-${id}`, message(server, { functions: [refund] }))
    const dead = await world.message(`f-${id}`, 'dead')
    expect([dead.fault, dead.reason]).toEqual(['channel', expect.stringContaining('private')])
  })

  test('a redirect is not followed', async () => {
    respond = (_call, res) => void res.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    await world.post('f-redirect', message('shop', { functions: [refund] }))
    expect((await world.message('f-redirect', 'dead')).reason).toBe('The endpoint answered 302.')
    expect(calls.length).toBe(1)
  })
})

describe('what an answer submits', () => {
  beforeAll(async () => {
    await world.put('steps', 1, { name: '', description: '', instructions: '', submitWhen: '' })
    await world.put('workflows', 1, { name: '', description: '', steps: [1], firstStep: 1 })
  })
  const task = (extId: string) => ({
    ...{ workflow: 1, currentStep: 1, status: 'active', name: '', description: '', extId },
  })

  test('reaches the task of its thread, and a message that only submits is done', async () => {
    await world.put('tasks', 1, task('t1'))
    await world.post('s-only', message('shop', { submit: { total: 7 } }, 't1'))
    const seen = await world.message('s-only', 'done')
    expect([seen.sends, seen.submit]).toEqual([[], { id: 's-only:0', state: 'submitted' }])
    expect(calls).toEqual([])
    const advanced = await eventually(async () => {
      const read = await world.read('tasks', 1)
      return read.status === 'completed' ? read : undefined
    })
    expect(advanced.context.steps).toEqual({ 1: { total: 7 } })
  })

  test('waits for the broker as long as that is away, without asking the handler again, and counts once', async () => {
    await world.put('tasks', 2, task('t2'))
    await world.putChannel(6, channel('submits', 1, { handlerUrl: `${endpoint.url}/handler` }))
    let answers = 0
    respond = ({ path, text }, res) => {
      if (path !== '/handler') return void res.writeHead(200).end('{}')
      broker.cut()
      const answer = { message: 'noted', submit: { asked: ++answers } }
      res.writeHead(200).end(JSON.stringify({ ...JSON.parse(text), answer }))
    }
    await world.post('s-away', message('submits', {}, 't2'))
    const waiting = await eventually(async () => {
      const { json } = await world.get('/rest/messages/s-away')
      const seen = json as Parsed
      return seen.sends?.[0]?.state === 'delivered' ? seen : undefined
    })
    expect([waiting.state, waiting.submit]).toEqual(['sending', { id: 's-away:1', state: 'pending' }])
    broker.mend()
    const seen = await world.message('s-away', 'delivered')
    expect(seen.submit?.state).toBe('submitted')
    const advanced = await eventually(async () => {
      const read = await world.read('tasks', 2)
      return read.status === 'completed' ? read : undefined
    })
    expect([advanced.context.steps, paths()]).toEqual([{ 1: { asked: 1 } }, ['/handler', '/callback']])
  })
})
