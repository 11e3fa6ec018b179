import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { MAY_HAVE_RUN } from '../../src/message/turn.ts'
import { actionOf, agentOf, callTool, startTools } from '../agent-world.ts'
import { type CallEndpoint, type EndpointCall, startCallEndpoint } from '../call-endpoint.ts'
import { text, tool } from './mcp-server.ts'

/** A server with sessions, which it may lose, and the ledger of what its tool did. */
interface SessionServer {
  sessions: Set<string>
  ledger: string[]
  deleted: string[]
  version: string
  /** How it refuses a session that it does not know. */
  refuse(res: ServerResponse): void
  /** Answers a call of its tool; the answer is a plain JSON response where it returns a result. */
  call(call: EndpointCall, res: ServerResponse): object | undefined
}

let endpoint: CallEndpoint
let server: SessionServer
let tools: ReturnType<typeof startTools>

beforeAll(async () => {
  endpoint = await startCallEndpoint()
})
afterAll(() => endpoint.close())
beforeEach(() => {
  endpoint.forget()
  tools = startTools()
  server = {
    sessions: new Set(),
    ledger: [],
    deleted: [],
    version: '2025-06-18',
    refuse: (res) => void res.writeHead(404).end('Session not found'),
    call: () => text('done'),
  }
  endpoint.respond = respond
})
afterEach(() => tools.close())

function respond(call: EndpointCall, res: ServerResponse): void {
  const session = String(call.headers['mcp-session-id'] ?? '')
  if (call.method === 'DELETE') {
    server.deleted.push(session)
    return void res.writeHead(server.sessions.delete(session) ? 200 : 404).end()
  }
  if (call.method === 'GET') return void res.writeHead(405).end()
  const { method, id } = call.json
  if (method === 'initialize') return void begin(res, id)
  if (!server.sessions.has(session)) return void server.refuse(res)
  if (id === undefined) return void res.writeHead(202).end()
  if (method === 'tools/list') return void json(res, id, { tools: [tool('work'), tool('read')] })
  server.ledger.push(String(call.headers['idempotency-key']))
  const result = server.call(call, res)
  if (result !== undefined) json(res, id, result)
}

function begin(res: ServerResponse, id: unknown): void {
  const name = `session-${Math.random()}`
  server.sessions.add(name)
  const serverInfo = { name: 's', version: '1' }
  const result = { protocolVersion: server.version, capabilities: { tools: {} }, serverInfo }
  json(res, id, result, { 'mcp-session-id': name })
}

function json(res: ServerResponse, id: unknown, result: object, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'content-type': 'application/json', ...headers })
  res.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

const events = (res: ServerResponse) => {
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  return (message: object, id?: string) =>
    void res.write(
      `${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`,
    )
}

let versions = 0
const open = (settings?: object) =>
  tools.open(
    agentOf([
      actionOf({
        _id: 50,
        version: ++versions,
        specType: 'mcp',
        moduleUrl: `${endpoint.url}/mcp`,
        configs: new Map(settings === undefined ? [] : [['settings', { ...settings }]]),
      }),
    ]),
  )
const started = () => endpoint.calls.filter(({ text }) => text.includes('"initialize"')).length

describe('a session', () => {
  test('is one for the calls of a turn, and ended with it', async () => {
    const toolbox = await open()
    expect(started()).toBe(1)
    await eventually(() => server.deleted.length === 1)
    for (const name of ['work', 'read', 'work']) await callTool(toolbox, name, {})
    expect(started()).toBe(2)
    expect(server.deleted.length).toBe(1)
    toolbox.close?.()
    await eventually(() => server.deleted.length === 2)
    expect(server.sessions.size).toBe(0)
  })

  test('that the server has forgotten by its end is no trouble', async () => {
    const toolbox = await open()
    await callTool(toolbox, 'work', {})
    await eventually(() => server.deleted.length === 1)
    server.sessions.clear()
    toolbox.close?.()
    await eventually(() => server.deleted.length === 2)
  })

  test.each<[string, (res: ServerResponse) => void]>([
    ['404', (res) => void res.writeHead(404).end('Session not found')],
    [
      '400 as the examples of the SDK do',
      (res) =>
        void res.writeHead(400, { 'content-type': 'application/json' }).end(
          JSON.stringify({
            jsonrpc: '2.0',
            error: { code: -32_000, message: 'Bad Request: No valid session ID provided' },
            id: null,
          }),
        ),
    ],
  ])(
    'that is lost, as it says by %s, is followed by another, and what was refused is called there',
    async (_n, refuse) => {
      server.refuse = refuse
      const toolbox = await open()
      await callTool(toolbox, 'work', {})
      server.sessions.clear()
      expect(await callTool(toolbox, 'work', {})).toMatchObject({ result: { state: 'done', text: 'done' } })
      expect(server.ledger.length).toBe(2)
      expect(await callTool(toolbox, 'work', {})).toMatchObject({ result: { state: 'done' } })
      expect(started()).toBe(3)
      toolbox.close?.()
    },
  )

  test('that is lost again and again ends the call, which was not done', async () => {
    const toolbox = await open()
    const asUsual = endpoint.respond
    endpoint.respond = (call, res) => {
      asUsual(call, res)
      if (call.text.includes('notifications/initialized')) server.sessions.clear()
    }
    const outcome = await callTool(toolbox, 'work', {})
    expect(outcome).toMatchObject({ kind: 'answered', result: { state: 'failed', status: 404 } })
    expect(JSON.stringify(outcome)).not.toContain(MAY_HAVE_RUN)
    expect(server.ledger).toEqual([])
  })

  test('that is lost while a call runs is not begun anew for it', async () => {
    server.call = (_call, res) => {
      server.sessions.clear()
      events(res)({ method: 'notifications/message', params: { level: 'info', data: 'begun' } })
      res.end()
      return undefined
    }
    const toolbox = await open()
    expect(await callTool(toolbox, 'work', {})).toMatchObject({
      kind: 'uncertain',
      reason: 'the server ended its answer early',
    })
    expect(server.ledger.length).toBe(1)
  })

  test.each(['2024-11-05', '2025-03-26', '2025-06-18'])(
    'is of the protocol of %s where the server asks for that',
    async (version) => {
      server.version = version
      expect(await callTool(await open(), 'work', {})).toMatchObject({ result: { state: 'done' } })
      const call = endpoint.calls.find(({ text }) => text.includes('"tools/call"'))
      expect(call?.headers['mcp-protocol-version']).toBe(version)
    },
  )

  test('of a protocol that nobody knows is not had, for that reason', async () => {
    server.version = '1999-01-01'
    expect((await open()).notes?.join()).toContain('1999-01-01')
  })

  test('of a server that speaks HTTP with SSE alone is not had, and the reason says what to do', async () => {
    endpoint.respond = (call, res) => {
      if (call.method !== 'GET') return void res.writeHead(405).end()
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('event: endpoint\ndata: /messages?sessionId=1\n\n')
    }
    expect((await open()).notes?.join()).toMatch(/HTTP with SSE .*Streamable HTTP/)
  })
})

describe('a call', () => {
  test('goes on while the server pings, and asks for what it is refused', async () => {
    const refused: unknown[] = []
    const asUsual = endpoint.respond
    let finish: () => void = () => {}
    server.call = ({ json }, res) => {
      const send = events(res)
      send({ id: 'p', method: 'ping' })
      send({ id: 's', method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } })
      send({ id: 'e', method: 'elicitation/create', params: { message: 'who?', requestedSchema: {} } })
      send({ id: 'r', method: 'roots/list' })
      finish = () => {
        send({ id: json.id, result: text('in the end') })
        res.end()
      }
      return undefined
    }
    endpoint.respond = (call, res) => {
      const message = call.text === '' ? {} : call.json
      if (message.method !== undefined || call.method !== 'POST') return asUsual(call, res)
      refused.push([message.id, message.error?.code])
      res.writeHead(202).end()
      if (refused.length === 4) finish()
    }
    expect(await callTool(await open(), 'work', {})).toMatchObject({ result: { text: 'in the end' } })
    expect(Object.fromEntries(refused as [string, number][])).toEqual({
      p: undefined,
      s: -32_601,
      e: -32_601,
      r: -32_601,
    })
  })

  test('is broken off after its time limit, and the server is reported', async () => {
    server.call = () => undefined
    const toolbox = await open({ timeoutSeconds: 1 })
    const opened = await toolbox.open({ tool: 'work', args: '{}' })
    expect(opened.kind === 'call' && opened.timeoutMs).toBe(1_000)
    expect(await callTool(toolbox, 'work', {})).toMatchObject({
      kind: 'uncertain',
      reason: 'no answer in time',
    })
    await eventually(() => endpoint.calls.some(({ text }) => text.includes('notifications/cancelled')))
  })

  test.each<[string, { leftMs?: number; ended?: AbortSignal }, string]>([
    ['for as long as the server tells of it', {}, 'answered'],
    ['no longer than the message has time', { leftMs: 1_500 }, 'uncertain'],
    ['no more once another instance has the message', { ended: AbortSignal.abort() }, 'unreached'],
  ])('is extended by progress %s', async (_name, limits, kind) => {
    server.call = ({ json }, res) => {
      const send = events(res)
      let reported = 0
      const { progressToken } = json.params._meta
      const timer = setInterval(() => {
        send({ method: 'notifications/progress', params: { progressToken, progress: ++reported } })
        if (reported < 8) return
        clearInterval(timer)
        send({ id: json.id, result: text('at last') })
        res.end()
      }, 400)
      res.once('close', () => clearInterval(timer))
      return undefined
    }
    const toolbox = await open({ timeoutSeconds: 1 })
    const opened = await toolbox.open({ tool: 'work', args: '{}' })
    if (opened.kind !== 'call') throw new Error('no call')
    expect(await opened.deliver('m:t0:0', limits)).toMatchObject({ kind })
    toolbox.close?.()
  })

  test('whose stream breaks off is taken up where it was, where the server has events with ids', async () => {
    const asUsual = endpoint.respond
    server.call = (_call, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.end('id: one\nretry: 10\ndata: \n\n')
      return undefined
    }
    endpoint.respond = (call, res) => {
      if (call.headers['last-event-id'] !== 'one') return asUsual(call, res)
      const { id } = endpoint.calls.find(({ text }) => text.includes('"tools/call"'))?.json ?? {}
      events(res)({ id, result: text('taken up') }, 'two')
      res.end()
    }
    expect(await callTool(await open(), 'work', {})).toMatchObject({ result: { text: 'taken up' } })
    expect(server.ledger.length).toBe(1)
  })
})

describe('a result', () => {
  const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex').toString('base64')
  const resultOf = async (content: object[], more: object = {}) => {
    server.call = () => ({ content, ...more })
    return callTool(await open(), 'work', {})
  }

  test.each<[string, object[], object, string]>([
    [
      'is its texts',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      {},
      'a\nb',
    ],
    [
      'has what is structured beside its text',
      [{ type: 'text', text: 'two items' }],
      { structuredContent: { items: [1, 2] } },
      'two items\n{"items":[1,2]}',
    ],
    [
      'has what is structured once where the text repeats it',
      [{ type: 'text', text: '{ "items": [1, 1917043659912705296] }' }],
      { structuredContent: { items: [1, 1917043659912705296n] } },
      '{ "items": [1, 1917043659912705296] }',
    ],
    ['names audio', [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }], {}, '[audio audio/wav, 1 KiB]'],
    [
      'names what it links to',
      [
        {
          type: 'resource_link',
          name: 'Invoice',
          uri: 'shop://invoice/1',
          mimeType: 'application/pdf',
          description: 'paid',
        },
      ],
      {},
      '[resource Invoice, shop://invoice/1, application/pdf, paid]',
    ],
    [
      'has the text of a resource, and names its bytes',
      [
        { type: 'resource', resource: { uri: 'shop://terms', text: 'Be kind.' } },
        { type: 'resource', resource: { uri: 'shop://pdf', mimeType: 'application/pdf', blob: 'AAAA' } },
      ],
      {},
      '[resource shop://terms]\nBe kind.\n[resource shop://pdf, application/pdf, 1 KiB]',
    ],
    ['of an unknown kind is named', [{ type: 'hologram' }], {}, '[hologram]'],
  ])('%s', async (_name, content, more, expected) => {
    const outcome = await resultOf(content, exact(more))
    expect(outcome).toEqual({ kind: 'answered', result: { state: 'done', text: expected } })
    expect(tools.toolImages.get('m:t0:0')).toEqual([])
  })

  test('has its images by what their bytes are, whatever the server says', async () => {
    const outcome = await resultOf([
      { type: 'image', mimeType: 'image/jpeg', data: PNG },
      { type: 'image', mimeType: 'image/png', data: Buffer.from('<svg/>').toString('base64') },
      { type: 'resource', resource: { uri: 'shop://logo', mimeType: 'image/png', blob: PNG } },
    ])
    expect(outcome).toMatchObject({
      result: {
        text: '[image image/jpeg, 1 KiB]\n[image image/png, 1 KiB]\n[resource shop://logo, image/png, 1 KiB]',
      },
    })
    const png = { mediaType: 'image/png', data: Buffer.from(PNG, 'base64') }
    expect(tools.toolImages.get('m:t0:0')).toEqual([png, png])
  })

  test('that is an error is the tool’s failure', async () => {
    expect(await resultOf([{ type: 'text', text: 'sold out' }], { isError: true })).toEqual({
      kind: 'answered',
      result: { state: 'failed', text: 'sold out' },
    })
  })
})

/** Numbers that no double holds, as a server writes them. */
function exact(more: object): object {
  const items = (more as { structuredContent?: { items?: unknown[] } }).structuredContent?.items ?? []
  if (!items.some((one) => typeof one === 'bigint')) return more
  const raw = items.map((one) => JSON.rawJSON(String(one)))
  return { structuredContent: { items: raw } }
}
