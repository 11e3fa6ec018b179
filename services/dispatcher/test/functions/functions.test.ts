import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { Webhook } from 'standardwebhooks'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { type DispatchWorld, startDispatchWorld } from '../dispatch-world.ts'
import { actionAt, assistant, channelAt, message, refund, SECRET, specAt } from './function-bodies.ts'

let world: DispatchWorld
let endpoint: CallEndpoint
const action = (more: object = {}) => actionAt(endpoint.url, more)
const channel = (extId: string, assistantId: number, more: object = {}) =>
  channelAt(endpoint.url, extId, assistantId, more)

beforeAll(async () => {
  endpoint = await startCallEndpoint()
  world = await startDispatchWorld()
  await world.put('actions', 1, action())
  await world.put('assistant', 1, assistant({ actions: [1] }))
  await world.putChannel(1, channel('shop', 1))
})
afterAll(async () => {
  await world.close()
  await endpoint.close()
})
beforeEach(() => endpoint.forget())

/** A channel whose action takes an `Idempotency-Key`. */
async function configureKeyed(): Promise<void> {
  const spec = specAt(endpoint.url).replace(
    'parameters: [',
    'parameters: [{ name: Idempotency-Key, in: header, schema: { type: string } }, ',
  )
  await world.put('actions', 41, action({ spec }))
  await world.put('assistant', 41, assistant({ actions: [41] }))
  await world.putChannel(41, channel('keyed', 41))
}

describe('a function of an answer', () => {
  test('endpoint.calls the operation of an action, in its place among the sends', async () => {
    const template = { name: 'callback', args: { template: 'hello', language: 'en' } }
    await world.post('f-order', message('shop', { functions: [template, refund], message: 'done' }))
    const seen = await world.message('f-order', 'delivered')
    expect(endpoint.paths()).toEqual(['/callback', '/v1/orders/o%201/refund', '/callback'])
    const [, call] = endpoint.calls
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
    expect(endpoint.paths()).toEqual(['/v1/orders/o%201/refund'])
  })

  test('of an action with a module is sent there, signed', async () => {
    await world.put('actions', 3, action({ moduleUrl: `${endpoint.url}/module` }))
    await world.put('assistant', 3, assistant({ actions: [3] }))
    await world.putChannel(3, channel('module', 3))
    await world.post('f-module', message('module', { functions: [refund] }))
    await world.message('f-module', 'delivered')
    const [call] = endpoint.calls
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
      id: 'f-module:0',
      messageId: 'f-module',
      action: 3,
      operationId: 'refund',
      args: refund.args,
    })
  })

  test('fills the security scheme of its spec with the credentials of its action', async () => {
    const components =
      '\nsecurity: [{ key: [] }]\ncomponents: { securitySchemes: { key: { type: apiKey, in: header, name: X-Key } } }\n'
    await world.put('actions', 40, action({ spec: specAt(endpoint.url) + components }))
    await world.put('assistant', 40, assistant({ actions: [40] }))
    await world.putChannel(40, channel('secured', 40))
    const value = { apiKey: 'k-1' }
    await world.put('configs', 40, { name: 'credentials', value, owner: 40, ownerType: 'action' })
    await world.post('f-secured', message('secured', { functions: [refund] }))
    await world.message('f-secured', 'delivered')
    expect(endpoint.calls[0]?.headers['x-key']).toBe('k-1')
    await world.put('configs', 40, {
      name: 'credentials',
      value: { apiKey: 'k-2' },
      owner: 40,
      ownerType: 'action',
    })
    await world.replicated('configs', 40, 2)
    let n = 0
    await eventually(async () => {
      const id = `f-secured-${++n}`
      await world.post(id, message('secured', { functions: [refund] }))
      await world.message(id, 'delivered')
      return endpoint.calls.at(-1)?.headers['x-key'] === 'k-2'
    })
  })

  test('that fails is called again under the same key, and what came before is not', async () => {
    endpoint.respond = ({ path }, res) =>
      void res.writeHead(path === '/callback' || endpoint.calls.length > 2 ? 200 : 503).end()
    const template = { args: { template: 'hello', language: 'en' } }
    await configureKeyed()
    await world.post('f-again', message('keyed', { functions: [template, refund] }))
    await world.message('f-again', 'delivered')
    expect(endpoint.paths()).toEqual(['/callback', '/v1/orders/o%201/refund', '/v1/orders/o%201/refund'])
    expect(endpoint.calls.slice(1).map(({ headers }) => headers['idempotency-key'])).toEqual([
      'f-again:1',
      'f-again:1',
    ])
  })

  test('that may have been done ends its message, is not called again, and goes on only by a replay of that message', async () => {
    endpoint.respond = ({ path }, res) =>
      void (path === '/callback' ? res.writeHead(200).end() : res.destroy())
    await world.post('f-once', message('shop', { functions: [refund], message: 'done' }, 'once'))
    const dead = await world.message('f-once', 'dead')
    expect(dead).toMatchObject({
      fault: 'channel',
      reason: expect.stringMatching(/may have been done, and must not be repeated: look up/),
      attempts: [{ step: 'f-once:0', outcome: 'uncertain', code: 'effect_unknown' }],
    })
    const bulk = await world.call('POST', '/rest/messages/replay', { thread: 'once' })
    expect([bulk.json, endpoint.paths()]).toEqual([{ replayed: 0, more: false }, ['/v1/orders/o%201/refund']])
    endpoint.forget()
    await world.call('POST', '/rest/messages/f-once/replay')
    await world.message('f-once', 'delivered')
    expect(endpoint.paths()).toEqual(['/v1/orders/o%201/refund', '/callback'])
  })

  test('is called with the numbers that were posted, or that a handler answered, as they were written', async () => {
    const args = { order: JSON.rawJSON('"o"'), amount: JSON.rawJSON('1917043659912705296') }
    await world.post('f-large-number', message('shop', { functions: [{ name: 'refund', args }] }))
    await world.message('f-large-number', 'delivered')
    await world.putChannel(6, channel('numbers', 1, { handlerUrl: `${endpoint.url}/handler` }))
    endpoint.respond = ({ path }, res) => {
      const answer = JSON.stringify({ answer: { functions: [{ name: 'refund', args }] } })
      res.writeHead(200).end(path === '/handler' ? answer : '{}')
    }
    await world.post('f-handler-number', { ...message('numbers', {}), input: 'hello' })
    await world.message('f-handler-number', 'delivered')
    const bodies = endpoint.calls.filter(({ path }) => path.endsWith('/refund')).map(({ text }) => text)
    expect(bodies).toEqual(['{"amount":1917043659912705296}', '{"amount":1917043659912705296}'])
  })

  test('that answers with more than anybody reads has been called', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(200).end('x'.repeat(5_000_000))
    await world.post('f-large', message('shop', { functions: [refund] }))
    await world.message('f-large', 'delivered')
    expect(endpoint.calls.length).toBe(1)
  })

  test('that was configured only a moment later is called', async () => {
    await world.putChannel(4, channel('early', 4))
    await world.post('f-early', message('early', { functions: [refund] }))
    await eventually(async () => (await world.get('/rest/messages/f-early')).status === 200)
    await world.put('assistant', 4, assistant({ actions: [4] }))
    await world.put('actions', 4, action())
    await world.message('f-early', 'delivered')
  })

  test('of a handler that answered once is not asked for again while it is looked for', async () => {
    await world.putChannel(5, channel('asked', 5, { handlerUrl: `${endpoint.url}/handler` }))
    endpoint.respond = ({ path, text }, res) => {
      const answer = path === '/handler' ? { ...JSON.parse(text), answer: { functions: [refund] } } : {}
      res.writeHead(200).end(JSON.stringify(answer))
    }
    await world.post('f-asked', message('asked', {}))
    await eventually(() => endpoint.calls.length > 0)
    await world.put('assistant', 5, assistant({ actions: [1] }))
    await world.message('f-asked', 'delivered')
    expect(endpoint.paths()).toEqual(['/handler', '/v1/orders/o%201/refund'])
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
      expect(endpoint.calls).toEqual([])
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
    await world.put('actions', id, action({ spec: specAt(server) }))
    await world.put('assistant', id, assistant({ actions: [id] }))
    await world.putChannel(id, channel(server, id))
    await world.post(`f-${id}`, message(server, { functions: [refund] }))
    const dead = await world.message(`f-${id}`, 'dead')
    expect([dead.fault, dead.reason]).toEqual(['channel', expect.stringContaining('private')])
  })

  test('a redirect is not followed', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    await world.post('f-redirect', message('shop', { functions: [refund] }))
    expect((await world.message('f-redirect', 'dead')).reason).toBe('The endpoint answered 302.')
    expect(endpoint.calls.length).toBe(1)
  })
})
