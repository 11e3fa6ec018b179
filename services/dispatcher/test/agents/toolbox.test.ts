import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { actionOf, agentOf, callTool, credentials, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { specAt } from '../functions/function-bodies.ts'

let endpoint: CallEndpoint
let other: CallEndpoint
let posted: Array<{ path: string; body: unknown }> = []
let answer: () => Promise<unknown> = async () => undefined
let reported: [action: number, reasons: readonly string[]][] = []
const tools = startTools({
  reportMissing: ({ _id }, reasons) => void reported.push([_id, reasons]),
  post: (path, body) => {
    posted.push({ path, body })
    return answer()
  },
})

beforeAll(async () => {
  endpoint = await startCallEndpoint()
  other = await startCallEndpoint()
})
afterAll(async () => {
  await tools.close()
  await endpoint.close()
  await other.close()
})
beforeEach(() => {
  endpoint.forget()
  other.forget()
  posted = []
  reported = []
})

const refunds = (more: object = {}) => actionOf({ _id: 1, spec: specAt(endpoint.url), ...more })
const names = async (
  actions: ReturnType<typeof actionOf>[],
  type?: 'chat' | 'functionCall' | 'taskManager',
) => (await tools.open(agentOf(actions, type))).descriptions.map(({ name }) => name)
const OWN = ['callback', 'handOff']

/** A spec of paths, as YAML is also JSON. */
const spec = (paths: object, more: object = {}) =>
  JSON.stringify({ openapi: '3.1.0', info: {}, servers: [{ url: `${endpoint.url}/v1` }], paths, ...more })

describe('the tools of an agent', () => {
  test('are none for chat, operations and those that reach a person for functionCall, and the task ones for taskManager', async () => {
    expect(await names([refunds()], 'chat')).toEqual([])
    expect(await names([refunds()])).toEqual([...OWN, 'refund'])
    const task = ['submit', 'createTask', 'changeStep', 'cancelTask', 'setState']
    expect(await names([refunds()], 'taskManager')).toEqual([...OWN, ...task, 'refund'])
  })

  test('describe an operation by parameters and body in one schema, references resolved', async () => {
    const paths = {
      '/pets/{id}': {
        parameters: [{ $ref: '#/components/parameters/Id' }],
        put: {
          operationId: 'putPet',
          summary: 'Stores a pet',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
          },
        },
        post: {
          operationId: 'tagPet',
          requestBody: {
            content: { 'application/json': { schema: { type: 'array', items: { type: 'string' } } } },
          },
        },
      },
    }
    const components = {
      parameters: {
        Id: { name: 'id', in: 'path', required: true, description: 'Which', schema: { type: 'integer' } },
      },
      schemas: {
        Pet: {
          type: 'object',
          required: ['name'],
          additionalProperties: false,
          properties: {
            name: { type: 'string' },
            friends: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
          },
        },
      },
    }
    const toolbox = await tools.open(agentOf([actionOf({ _id: 30, spec: spec(paths, { components }) })]))
    const [, , put, post] = toolbox.descriptions
    const id = { type: 'integer', description: 'Which' }
    expect(put).toEqual({
      name: 'putPet',
      description: 'Stores a pet',
      inputSchema: {
        type: 'object',
        // Recursion is cut: what a friend's friends are is said only when they are checked.
        properties: { id, name: { type: 'string' }, friends: { type: 'array', items: {} } },
        required: ['id', 'name'],
        additionalProperties: false,
      },
    })
    expect(post?.inputSchema).toEqual({
      type: 'object',
      properties: { id, body: { type: 'array', items: { type: 'string' } } },
      required: ['id'],
      additionalProperties: false,
    })
    await callTool(toolbox, 'putPet', { id: 7, name: 'Rex', friends: [{ name: 'Ada' }] })
    await callTool(toolbox, 'tagPet', { id: 7, body: ['good'] })
    expect(endpoint.calls.map(({ method, path, text }) => [method, path, text])).toEqual([
      ['PUT', '/v1/pets/7', '{"name":"Rex","friends":[{"name":"Ada"}]}'],
      ['POST', '/v1/pets/7', '["good"]'],
    ])
  })

  test('are 128 at most of a spec with 500 operations, and it is said how many are left out', async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 500 }, (_, n) => [`/p${n}`, { get: { operationId: `op${n}` } }]),
    )
    const toolbox = await tools.open(agentOf([actionOf({ _id: 2, spec: spec(paths) }), refunds()]))
    expect(toolbox.descriptions.length).toBe(128)
    expect(toolbox.notes).toEqual([
      '3 more tools are left out: at most 128 are given.',
      '372 more tools of action 2 are left out: there are too many.',
    ])
    expect(await toolbox.open({ tool: 'op499', args: '{}' })).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining('There is no tool "op499"'),
    })
  })

  test('get names that every provider takes, and are called by their own', async () => {
    const paths = {
      '/a': { get: { operationId: 'Список заказов' }, put: { operationId: 'orders.list/v2' } },
      '/b': {
        get: { operationId: '2nd' },
        put: { operationId: 'x'.repeat(80) },
        post: { operationId: `${'x'.repeat(79)}y` },
      },
      '/c': { get: { operationId: 'submit' }, put: { operationId: 'callback' } },
    }
    const toolbox = await tools.open(agentOf([actionOf({ _id: 3, spec: spec(paths) })], 'taskManager'))
    const given = toolbox.descriptions.map(({ name }) => name)
    expect(new Set(given).size).toBe(given.length)
    for (const name of given) expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/)
    expect(given.slice(-2)).toEqual(['submit_2', 'callback_2'])
    await callTool(toolbox, 'orders_list_v2', {})
    await callTool(toolbox, 'submit_2', {})
    expect(endpoint.calls.map(({ method, path }) => [method, path])).toEqual([
      ['PUT', '/v1/a'],
      ['GET', '/v1/c'],
    ])
  })

  test('of two actions with the same operationId go each to its own server', async () => {
    const second = actionOf({ _id: 31, spec: specAt(other.url) })
    const toolbox = await tools.open(agentOf([refunds(), second]))
    expect(toolbox.descriptions.map(({ name }) => name)).toEqual([...OWN, 'refund', 'refund_2'])
    await callTool(toolbox, 'refund_2', { order: 'o', amount: 1 })
    expect([endpoint.calls.length, other.calls.length]).toEqual([0, 1])
  })

  test('leave out what can not be read, and say so, while the others work', async () => {
    const paths = {
      '/a': {
        get: { operationId: 'fine' },
        put: { operationId: 'torn', parameters: [{ $ref: '#/nothing' }] },
      },
    }
    const actions = [
      actionOf({ _id: 4, spec: 'a: [' }),
      actionOf({ _id: 5, spec: spec(paths) }),
      actionOf({ _id: 6, specType: 'wsdl' }),
    ]
    const toolbox = await tools.open(agentOf(actions))
    expect(toolbox.descriptions.map(({ name }) => name)).toEqual([...OWN, 'fine'])
    expect(toolbox.notes).toEqual([
      'The spec of action 4 is no YAML.',
      'A tool of action 5 is left out: it has a reference to nothing: #/nothing.',
      'Action 6 is of an unknown type, "wsdl".',
    ])
  })

  test('are not those of operations that nothing names, and each is said by its place', async () => {
    const paths = {
      '/a': { get: { operationId: 'fine' }, post: { summary: 'Made in a hurry' } },
      '/b': { get: { operationId: 'fine' }, put: { operationId: 5 }, post: { operationId: '' } },
    }
    const toolbox = await tools.open(agentOf([actionOf({ _id: 90, spec: spec(paths) })]))
    expect(toolbox.descriptions.map(({ name }) => name)).toEqual([...OWN, 'fine'])
    expect(toolbox.notes).toEqual([
      'A tool of action 90 is left out: it has no operationId (POST /a).',
      'A tool of action 90 is left out: it has the operationId of another, "fine" (GET /b).',
      'A tool of action 90 is left out: it has no operationId (PUT /b).',
      'A tool of action 90 is left out: it has no operationId (POST /b).',
    ])
  })

  test('that are missing are counted where there are too many to be named', async () => {
    const without = (_id: number, count: number) => {
      const paths = Array.from({ length: count }, (_, n) => [`/${n}`, { get: {} }])
      return actionOf({ _id, spec: spec(Object.fromEntries(paths)) })
    }
    const one = await tools.open(agentOf([without(91, 25)]))
    expect(one.notes?.slice(-2)).toEqual([
      'A tool of action 91 is left out: it has no operationId (GET /18).',
      '2 more reasons are not shown here.',
    ])
    expect(reported.at(-1)).toMatchObject([
      91,
      { length: 21, 20: "5 more tools of action 91 can't be worked with." },
    ])
    const many = await tools.open(agentOf([without(92, 15), without(93, 15)]))
    expect(many.notes).toHaveLength(20)
    expect(many.notes?.at(-1)).toBe('11 more reasons are not shown here.')
  })

  test('that are missing are reported by action, of what was read alone', async () => {
    const broken = actionOf({ _id: 94, spec: spec({ '/a': { get: {}, put: { operationId: 'fine' } } }) })
    await tools.open(agentOf([actionOf({ _id: 95, spec: 'a: [' }), broken, refunds()]))
    expect(reported.toSorted(([one], [other]) => other - one)).toEqual([
      [94, ['A tool of action 94 is left out: it has no operationId (GET /a).']],
      [1, []],
    ])
  })

  test('have schemas of a bounded size, however a spec branches', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 20 }, (_, n) => {
        const next = { $ref: `#/components/schemas/S${n + 1}` }
        return [`S${n}`, { type: 'object', properties: { a: next, b: next, c: next } }]
      }),
    )
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } }
    const paths = { '/a': { post: { operationId: 'wide', requestBody: { content } } } }
    const components = { schemas: { ...schemas, S20: { type: 'string' } } }
    const toolbox = await tools.open(agentOf([actionOf({ _id: 7, spec: spec(paths, { components }) })]))
    const text = JSON.stringify(toolbox.descriptions.at(-1))
    expect(text.length).toBeLessThan(64 * 1024)
    expect(text).toContain('"a":')
  })
})

describe('a call of an operation', () => {
  test('answers with body and status, under the idempotency key', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(201).end('{"refund":7}')
    const outcome = await callTool(await tools.open(agentOf([refunds()])), 'refund', {
      order: 'o',
      amount: 1,
    })
    expect(outcome).toEqual({
      kind: 'answered',
      result: { state: 'done', status: 201, text: '{"refund":7}' },
    })
    expect(endpoint.calls[0]?.headers['idempotency-key']).toBe('m:t0:0')
  })

  test('that is answered with nothing is done', async () => {
    const toolbox = await tools.open(agentOf([refunds()]))
    for (const status of [200, 201, 204]) {
      endpoint.respond = (_call, res) =>
        void res.writeHead(status, { 'content-type': 'application/json' }).end()
      expect(await callTool(toolbox, 'refund', { order: 'o', amount: 1 })).toEqual({
        kind: 'answered',
        result: { state: 'done', status, text: `HTTP ${status} without a body.` },
      })
    }
  })

  test('that is refused has failed, with what was answered', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(429).end('come back later')
    const outcome = await callTool(await tools.open(agentOf([refunds()])), 'refund', {
      order: 'o',
      amount: 1,
    })
    expect(outcome).toEqual({
      kind: 'answered',
      result: { state: 'failed', status: 429, text: 'come back later' },
    })
  })

  test('has 16 KiB of a long answer, cut between characters', async () => {
    endpoint.respond = (_call, res) => void res.writeHead(200).end(`x${'é'.repeat(20_000)}`)
    const outcome = await callTool(await tools.open(agentOf([refunds()])), 'refund', {
      order: 'o',
      amount: 1,
    })
    expect(outcome).toMatchObject({ result: { cut: true, text: `x${'é'.repeat(8_191)}` } })
    endpoint.respond = (_call, res) => void res.writeHead(200).end('x'.repeat(5_000_000))
    const large = await callTool(await tools.open(agentOf([refunds()])), 'refund', { order: 'o', amount: 1 })
    expect(large).toMatchObject({ result: { state: 'done', cut: true, status: 200 } })
  })

  test('that reaches nobody is tried again; one to a private address is not', async () => {
    const at = async (url: string, _id: number) =>
      callTool(await tools.open(agentOf([actionOf({ _id, spec: specAt(url) })])), 'refund', {
        order: 'o',
        amount: 1,
      })
    expect((await at('http://127.0.0.1:9', 8)).kind).toBe('unreached')
    expect(await at('http://169.254.169.254', 9)).toMatchObject({
      kind: 'answered',
      result: { state: 'failed', text: expect.stringContaining('private') },
    })
  })

  test('of an action with a module goes there, signed', async () => {
    const toolbox = await tools.open(agentOf([refunds({ _id: 10, moduleUrl: `${endpoint.url}/module` })]))
    await callTool(toolbox, 'refund', { order: 'o', amount: 1 })
    const [call] = endpoint.calls
    expect(call?.headers['webhook-signature']).toBeDefined()
    expect(call?.json).toMatchObject({ id: 'm:t0:0', messageId: 'm', action: 10, operationId: 'refund' })
  })

  test.each([
    ['{"order":"o"}', 'the argument /amount is missing'],
    ['{"order":"o","amount":"five"}', 'the argument /amount breaks "type"'],
    ['[1]', 'not one JSON object'],
    ['{"order":', 'not JSON'],
    [`{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 'At most 32 levels'],
    [`{"a":"${'x'.repeat(300_000)}"}`, 'longer than'],
    ['{"order":"\\ud800","amount":1}', 'lone surrogate'],
  ])('with the arguments %.40s is invalid, and it is said why', async (args, reason) => {
    const toolbox = await tools.open(agentOf([refunds()]))
    expect(await toolbox.open({ tool: 'refund', args })).toEqual({
      kind: 'invalid',
      reason: expect.stringContaining(reason),
    })
    expect(endpoint.calls).toEqual([])
  })
})

describe('the credentials of an action', () => {
  const KEY = 'sk-never/shown "1"'
  const schemes = {
    key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    query: { type: 'apiKey', in: 'query', name: 'key' },
    cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
    bearer: { type: 'http', scheme: 'bearer' },
    basic: { type: 'http', scheme: 'basic' },
  }
  const paths = {
    '/all': { get: { operationId: 'all', security: [{ key: [], query: [], cookie: [] }] } },
    '/bearer': { get: { operationId: 'bearer', security: [{ basic: [] }, { bearer: [] }] } },
    '/basic': { get: { operationId: 'basic', security: [{ basic: [] }] } },
    '/open': { get: { operationId: 'open', security: [] } },
    '/elsewhere': { get: { operationId: 'elsewhere', security: [{ key: [] }] } },
  }
  const secured = (value: object, _id: number) => {
    const own = structuredClone(paths)
    Object.assign(own['/elsewhere'].get, { servers: [{ url: other.url }] })
    const text = spec(own, { components: { securitySchemes: schemes } })
    return tools.open(agentOf([actionOf({ _id, spec: text, configs: credentials({ ...value }) })]))
  }

  test('fill the security schemes that the operation asks for, in header, query and cookie', async () => {
    await callTool(await secured({ apiKey: 'k&1' }, 20), 'all', {})
    const [call] = endpoint.calls
    expect([call?.path, call?.headers['x-key'], call?.headers.cookie]).toEqual([
      '/v1/all?key=k%261',
      'k&1',
      'sid=k%261',
    ])
    await callTool(await secured({ token: 't' }, 21), 'bearer', {})
    expect(endpoint.calls.at(-1)?.headers.authorization).toBe('Bearer t')
    await callTool(
      await secured({ credentials: { basic: { username: 'u', password: 'p' } } }, 22),
      'basic',
      {},
    )
    expect(endpoint.calls.at(-1)?.headers.authorization).toBe(`Basic ${btoa('u:p')}`)
  })

  test('are not sent where the operation asks for none, to another origin, to a module, or after a redirect', async () => {
    const toolbox = await secured({ apiKey: KEY }, 23)
    await callTool(toolbox, 'open', {})
    await callTool(toolbox, 'elsewhere', {})
    expect(other.calls.length).toBe(1)
    endpoint.respond = (_call, res) => void res.writeHead(307, { location: `${other.url}/all` }).end()
    expect(await callTool(toolbox, 'all', {})).toMatchObject({ result: { state: 'failed', status: 307 } })
    expect(other.calls.length).toBe(1)
    endpoint.forget()
    const module = actionOf({
      _id: 24,
      moduleUrl: `${endpoint.url}/module`,
      spec: spec(paths, { components: { securitySchemes: schemes } }),
      configs: credentials({ apiKey: KEY }),
    })
    await callTool(await tools.open(agentOf([module])), 'all', {})
    const seen = [...other.calls, ...endpoint.calls].map(({ headers, path, text }) =>
      JSON.stringify([headers, path, text]),
    )
    expect(seen.join()).not.toContain('never')
  })

  test('are in no result, also where the other side repeats them', async () => {
    endpoint.respond = ({ headers, path }, res) =>
      void res.writeHead(401).end(`${headers['x-key']} ${JSON.stringify(headers['x-key'])} ${path}`)
    const outcome = await callTool(await secured({ apiKey: KEY }, 25), 'all', {})
    expect(outcome).toMatchObject({ result: { state: 'failed', text: expect.stringContaining('••••') } })
    expect(JSON.stringify(outcome)).not.toContain('never')
  })
})

describe('built-in tools', () => {
  const open = async (tool: string, args: object) =>
    (await tools.open(agentOf([], 'taskManager'))).open({ tool, args: JSON.stringify(args) })

  test('callback says a text or sends a template', async () => {
    expect(await open('callback', { message: 'One moment' })).toEqual({
      kind: 'say',
      content: { kind: 'text', text: 'One moment' },
    })
    const content = { kind: 'template', template: 'hello', language: 'en', variables: ['Ana'] }
    expect(await open('callback', { template: 'hello', language: 'en', variables: ['Ana'] })).toEqual({
      kind: 'say',
      content,
    })
    for (const args of [
      {},
      { message: '' },
      { template: 'x' },
      { message: 'x', template: 'y', language: 'en' },
      { message: 1 },
    ])
      expect((await open('callback', args)).kind).toBe('invalid')
  })

  test("callback's text is as long as one send may be, and the model reads why a longer one is not sent", async () => {
    const message = 'x'.repeat(4_097)
    const onWhatsapp = await tools.open(agentOf([]), { callback: 'whatsapp' })
    const call = { tool: 'callback', args: JSON.stringify({ message }) }
    expect(await onWhatsapp.open(call)).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining('4096'),
    })
    expect(await open('callback', { message })).toMatchObject({ kind: 'say' })
  })

  test('callback says what there is to choose from, and the model reads what the channel does not take', async () => {
    const onWhatsapp = await tools.open(agentOf([]), { callback: 'whatsapp' })
    const opened = (args: object) => onWhatsapp.open({ tool: 'callback', args: JSON.stringify(args) })
    const buttons = [{ id: 's', title: 'Small' }, { title: 'Large' }]
    expect(await opened({ message: '**Which?**', buttons, header: null })).toMatchObject({
      kind: 'say',
      content: { kind: 'object', type: 'interactive', object: expect.stringContaining('"*Which?*"') },
    })
    const many = ['a', 'b', 'c', 'd'].map((title) => ({ title }))
    expect(await opened({ message: 'Which?', buttons: many })).toEqual({
      kind: 'invalid',
      reason: 'The argument /buttons: has more than 3.',
    })
    expect(await opened({ message: 'x', colour: 'red' })).toMatchObject({ kind: 'invalid' })
    const template = { template: 'code', language: 'en', variables: { code: '1' } }
    const button = { type: 'button', sub_type: 'url', index: '0', parameters: [{ type: 'text', text: '1' }] }
    expect(await opened({ ...template, components: [button] })).toMatchObject({
      kind: 'say',
      content: {
        kind: 'object',
        type: 'template',
        object: expect.stringContaining('"parameter_name":"code"'),
      },
    })
    expect(await opened({ ...template, components: [{ ...button, sub_type: 'fax' }] })).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining('/components/0/sub_type'),
    })
  })

  test('callback offers no more than the channel’s provider takes', async () => {
    const keysOn = async (callback: string) => {
      const { descriptions } = await tools.open(agentOf([]), { callback })
      const schema = descriptions.find(({ name }) => name === 'callback')?.inputSchema
      return Object.keys((schema?.properties ?? {}) as object)
    }
    expect(await keysOn('rpc')).toEqual(['message', 'template', 'language', 'variables'])
    expect(await keysOn('whatsapp')).toEqual(
      expect.arrayContaining(['buttons', 'list', 'image', 'components']),
    )
  })

  test('handOff gives its reason', async () => {
    expect(await open('handOff', { reason: 'angry' })).toEqual({ kind: 'handOff', reason: 'angry' })
    expect(await open('handOff', {})).toMatchObject({
      kind: 'invalid',
      reason: expect.stringContaining('/reason'),
    })
  })

  test('the task tools are applied by configuration, under the id of the call', async () => {
    answer = async () => ({ state: 'done', text: 'The task "Sale" is at the step "Order".' })
    const outcomes = []
    for (const [tool, args] of [
      ['submit', { size: 42 }],
      ['createTask', { workflowName: 'Sale' }],
      ['changeStep', { stepName: 'Order' }],
      ['cancelTask', {}],
      ['setState', { key: 'k', value: { a: 1 } }],
    ] as const) {
      const opened = await open(tool, args)
      outcomes.push(opened.kind === 'call' && (await opened.deliver(`m:t0:${tool}`)))
    }
    const result = { state: 'done', text: 'The task "Sale" is at the step "Order".' }
    expect(outcomes).toEqual(Array(5).fill({ kind: 'answered', result }))
    const common = { channelId: 1, assistantId: 1, thread: 'thread-1' }
    expect(posted.map(({ body }) => body)).toEqual([
      { ...common, id: 'm:t0:submit', operation: { kind: 'submit', submit: { size: 42 } } },
      { ...common, id: 'm:t0:createTask', operation: { kind: 'createTask', workflow: 'Sale' } },
      { ...common, id: 'm:t0:changeStep', operation: { kind: 'changeStep', step: 'Order' } },
      { ...common, id: 'm:t0:cancelTask', operation: { kind: 'cancelTask' } },
      { ...common, id: 'm:t0:setState', operation: { kind: 'setState', key: 'k', value: { a: 1 } } },
    ])
    expect(posted[0]?.path).toBe('/internal/workspaces/1/tasks/operations')
    expect(await open('changeStep', {})).toMatchObject({ kind: 'invalid' })
  })

  test('a task tool whose answer never came is tried again under its id', async () => {
    answer = async () => {
      throw new Error('unavailable')
    }
    const opened = await open('cancelTask', {})
    expect(opened.kind === 'call' && (await opened.deliver('m:t0:0'))).toMatchObject({ kind: 'unreached' })
  })
})

describe('a large spec', () => {
  const get = (operationId: string, tags?: string[]) => ({ get: { operationId, ...(tags && { tags }) } })
  const large = () =>
    spec(
      {
        '/a': get('listOrders', ['orders']),
        '/b': get('readOrder', ['orders']),
        '/c': get('whoAmI'),
        '/d': get('other', ['users']),
      },
      { 'x-text': Array.from({ length: 30 }, (_, n) => `${n} ${'much is said '.repeat(8_000)}`) },
    )
  const choosing = (value: object, _id: number) =>
    actionOf({ _id, spec: large(), configs: new Map([['settings', value as Record<string, unknown>]]) })

  test('of 3 MB is read, and gives the operations that a config chooses by id or tag', async () => {
    expect(large().length).toBeGreaterThan(3_000_000)
    expect(await names([choosing({ operations: ['orders', 'whoAmI'] }, 61)])).toEqual([
      ...OWN,
      'listOrders',
      'readOrder',
      'whoAmI',
    ])
    expect(await names([choosing({ idempotent: true }, 62)])).toHaveLength(OWN.length + 4)
  })

  test('gives others as soon as the config has others, and says which there are not', async () => {
    expect(await names([choosing({ operations: ['users'] }, 63)])).toEqual([...OWN, 'other'])
    const toolbox = await tools.open(agentOf([choosing({ operations: ['users', 'ordres'] }, 63)]))
    expect(toolbox.notes).toEqual(['No operation of action 63 has the id or tag "ordres".'])
  })
})
