import { execFile } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, BlockList } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { memoryBound } from '@parley/shared/memory'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import { transcriptionModelOf } from '../../src/agents/model/provider-models.ts'
import type { ModelChoice } from '../../src/agents/model-client.ts'
import { callResult, toolPage } from '../../src/agents/tools/mcp-results.ts'
import { withMcpSession } from '../../src/agents/tools/mcp-session.ts'
import type { Channel } from '../../src/channels/channels.ts'
import { createHandle } from '../../src/channels/handle.ts'
import { createGuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { createSigner } from '../../src/channels/signing.ts'
import { createAskProvider } from '../../src/channels/templates/provider-templates.ts'
import { findAuthorizationServer } from '../../src/functions/find-authorization-server.ts'
import { registerClient } from '../../src/functions/register-client.ts'
import { requestToken } from '../../src/functions/request-token.ts'
import { createPostEvent } from '../../src/outgoing/post-event.ts'
import { modelRequest } from '../agents/model-world.ts'

/** Milliseconds that no foreign answer may block the event loop for, with a margin; unbounded it was seconds. */
const BLOCKED_MS = 150
const GROWN_MB = 120
const MB = 1024 * 1024

/** The server's answers by path, each sent until the client has enough. */
const responses = new Map<string, (res: ServerResponse, body: string) => void>()
const server = createServer((req, res) => {
  let body = ''
  req.on('data', (chunk) => {
    body += chunk
  })
  req.on('end', () => responses.get((req.url ?? '').split('/')[1] ?? '')?.(res, body))
  res.on('error', () => {})
})
const allowed = new BlockList()
allowed.addSubnet('127.0.0.0', 8)
const guarded = createGuardedFetch({ allowed, maxSockets: 8, maxBytes: 5 * MB })
const http = createHttpClient({ allowed })
let url = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  guarded.close()
  http.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const fill = (one: string, bytes: number) => one.repeat(Math.floor(bytes / one.length))
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const respondWith = (text: string, contentType: string, status = 200) => {
  const bytes = Buffer.from(text)
  return (res: ServerResponse) => void res.writeHead(status, { 'content-type': contentType }).end(bytes)
}
const SSE = 'text/event-stream'
const JSON_TYPE = 'application/json'

describe('a model whose stream is', () => {
  const chat = (delta: object) => event({ choices: [{ index: 0, delta }] })
  const call = (more: object) => chat({ tool_calls: [more] })
  const openAi = (text: string) => `data: {"type":"${text}"}\n\n`
  const google = (part: object) => event({ candidates: [{ content: { parts: [part] } }] })
  const partial = { jsonPath: '$.a', stringValue: 'b', willContinue: true }
  test.each<[string, ModelChoice['provider'], string]>([
    ['line ends', 'openai-compatible', fill(`${'\n'.repeat(65_535)}\r`, 4.9 * MB)],
    ['line ends of another type', 'openai-compatible', `{${fill(`${'\n'.repeat(65_535)}\r`, 4.9 * MB)}`],
    [
      'calls of one index',
      'openai-compatible',
      fill(call({ index: 0, function: { name: 'a', arguments: '{}' } }), 4.9 * MB),
    ],
    ['calls of none', 'openai-compatible', fill(call({ function: { name: 'a', arguments: '{' } }), 4.9 * MB)],
    [
      'arguments without end',
      'openai-compatible',
      call({ index: 0, function: { name: 'a', arguments: '{"a":"' } }) +
        fill(call({ index: 0, function: { arguments: 'aaaa' } }), 4.9 * MB),
    ],
    ['letters', 'openai-compatible', fill(chat({ content: 'a' }), 4.9 * MB)],
    ['thoughts', 'openai-compatible', fill(chat({ reasoning_content: 'a' }), 4.9 * MB)],
    [
      'one event of many calls',
      'openai-compatible',
      chat({ tool_calls: Array(60_000).fill({ function: { name: 'a', arguments: '{}' } }) }),
    ],
    ['one event of many choices', 'openai-compatible', event({ choices: Array(60_000).fill({}) })],
    ['one line', 'openai-compatible', `data: ${'a'.repeat(4.9 * MB)}`],
    ['one event in many lines', 'openai-compatible', fill('data: 1\n', 4.9 * MB)],
    ['events that say nothing', 'openai', fill(openAi('x'), 4.9 * MB)],
    ['arguments of nothing', 'openai', fill(openAi('response.function_call_arguments.delta'), 4.9 * MB)],
    [
      'blocks',
      'anthropic',
      fill(
        'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"b"}}\n\n',
        4.9 * MB,
      ),
    ],
    [
      'arguments in parts',
      'google',
      fill(google({ functionCall: { name: 'a', willContinue: true, partialArgs: [partial] } }), 4.9 * MB),
    ],
    ['parts', 'google', fill(google({ text: 'a' }), 4.9 * MB)],
  ])(
    '%s (%s) does not hold the event loop',
    async (name, provider, text) => {
      responses.set('model', respondWith(text, name.endsWith('type') ? JSON_TYPE : SSE))
      const choice = { provider, model: 'm', baseUrl: `${url}/model`, apiKey: 'k' }
      const client = createModelClient({ fetch: guarded.fetch })
      // Code that is loaded and compiled once does not count for the answer.
      await client.ask(
        { ...choice, baseUrl: `${url}/none` },
        modelRequest({ timeoutMs: 1, onDelta: () => {} }),
      )
      const { result, blockedMs, grownMb } = await blockedDuring(() =>
        client.ask(choice, modelRequest({ timeoutMs: 60_000, onDelta: () => {} })),
      )
      expect(result).toMatchObject({
        kind: 'retryable',
        code: expect.stringMatching(/^(answer_too_large|bad_answer|broken_stream)$/),
      })
      expect(blockedMs).toBeLessThan(BLOCKED_MS)
      expect(grownMb).toBeLessThan(GROWN_MB)
    },
    90_000,
  )
})

describe('a model whose whole answer is', () => {
  const message = (more: object | string) =>
    `{"choices":[{"message":${typeof more === 'string' ? more : JSON.stringify(more)},"finish_reason":"stop"}]}`
  test.each<[string, ModelChoice['provider'], string, number]>([
    [
      '60,000 calls',
      'openai-compatible',
      message({ tool_calls: Array(60_000).fill({ function: { name: 'a', arguments: '{}' } }) }),
      200,
    ],
    ['calls that are none', 'openai-compatible', message({ tool_calls: Array(60_000).fill({}) }), 200],
    ['5 MB of text', 'openai-compatible', message({ content: 'é\n'.repeat(1_600_000) }), 200],
    [
      'many members',
      'openai-compatible',
      `{${Array.from({ length: 200_000 }, (_, n) => `"a${n}":1`).join(',')}}`,
      200,
    ],
    ['nested without end', 'openai-compatible', '['.repeat(4.9 * MB), 200],
    [
      'outputs that are none',
      'openai',
      `{"id":"x","created_at":1,"model":"m","output":[${Array(60_000).fill('{}').join(',')}]}`,
      200,
    ],
    [
      'nested outputs that are none',
      'openai',
      `{"id":"x","created_at":1,"model":"m","output":[{"type":"message","role":"assistant","id":"a","content":[${Array(60_000).fill('{}').join(',')}]}]}`,
      200,
    ],
    [
      'blocks that are none',
      'anthropic',
      `{"type":"message","content":[${Array(60_000).fill('{}').join(',')}]}`,
      200,
    ],
    [
      'parts that are none',
      'google',
      `{"candidates":[{"content":{"parts":[${Array(60_000).fill('{}').join(',')}]}}]}`,
      200,
    ],
    ['an error of 5 MB', 'openai-compatible', `{"error":{"message":"${'x '.repeat(2_400_000)}"}}`, 500],
  ])('%s (%s) does not hold the event loop', async (_name, provider, text, status) => {
    responses.set('whole', respondWith(text, JSON_TYPE, status))
    const choice = { provider, model: 'm', baseUrl: `${url}/whole`, apiKey: 'k' }
    const client = createModelClient({ fetch: guarded.fetch })
    await client.ask({ ...choice, baseUrl: `${url}/none` }, modelRequest({ timeoutMs: 1 }))
    const { result, blockedMs, grownMb } = await blockedDuring(() => client.ask(choice, modelRequest()))
    expect(result).toMatchObject({ code: 'answer_too_large' })
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
    expect(grownMb).toBeLessThan(GROWN_MB)
  })
})

describe('a transcript with', () => {
  const choice = () => ({
    provider: 'openai' as const,
    model: 'whisper-1',
    baseUrl: `${url}/heard`,
    apiKey: 'k',
  })
  const heard = async () => {
    const model = await transcriptionModelOf(choice(), guarded.fetch)
    return model?.doGenerate({ audio: new Uint8Array(8), mediaType: 'audio/ogg' })
  }
  const segment = { id: 1, seek: 0, start: 0, end: 1, text: 'a', tokens: [1, 2, 3] }
  test.each([
    ['an hour of segments', { text: 'Hello', segments: Array(2_000).fill(segment) }, 'Hello'],
    ['segments that are none', { text: 'Hello', segments: Array(9_000).fill({}) }, 'Hello'],
    ['usage that is anything', { text: 'Hello', usage: { a: Array(60_000).fill([]) } }, undefined],
    ['no text', { segments: Array(9_000).fill({}) }, undefined],
  ])('%s does not hold the event loop', async (_name, said, text) => {
    responses.set('heard', respondWith(JSON.stringify(said), JSON_TYPE))
    await heard().catch(() => {})
    const { result, blockedMs } = await blockedDuring(() => heard().catch(() => undefined))
    expect(result?.text).toBe(text)
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
  })
})

describe('an MCP server whose answer is', () => {
  const items = (one: string, count = 28_000) => Array(count).fill(one).join(',')
  const result = (members: string) => (body: string, form: string) => {
    const { id, method } = JSON.parse(body === '' ? '{}' : body)
    const initialized = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'a', version: '1' },
    }
    const text = `{"jsonrpc":"2.0","id":${id},"result":${method === 'initialize' ? JSON.stringify(initialized) : members}}`
    return form === SSE ? `data: ${text}\n\n` : text
  }
  const all = (text: string) => () => text
  test.each<[string, string, (body: string, form: string) => string]>([
    ['line ends', SSE, all(fill(`${'\n'.repeat(65_535)}\r`, 1.9 * MB))],
    ['empty events', SSE, all(fill('data:{}\n\n', 1.9 * MB))],
    [
      'notifications',
      SSE,
      all(
        fill(
          event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } }),
          1.9 * MB,
        ),
      ),
    ],
    ['one event in many lines', SSE, all(`data: [\n${'data: 1,\n'.repeat(200_000)}data: 1]\n\n`)],
    ['a batch', JSON_TYPE, all(`[${items('{"jsonrpc":"2.0","id":0,"result":{}}')}]`)],
    ['tools that are none', JSON_TYPE, result(`{"content":[],"tools":[${items('{}')}]}`)],
    ['content that is none', SSE, result(`{"tools":[],"content":[${items('{}')}]}`)],
    [
      'content without its text',
      JSON_TYPE,
      result(`{"tools":[],"content":[${items('{"type":"text"}', 19_000)}]}`),
    ],
    ['one text', SSE, result(`{"tools":[],"content":[{"type":"text","text":"${'a'.repeat(0.9 * MB)}"}]}`)],
    [
      'many members',
      JSON_TYPE,
      result(
        `{"tools":[],"structuredContent":{${Array.from({ length: 59_000 }, (_, n) => `"a${n}":1`).join(',')}}}`,
      ),
    ],
  ])('%s (%s) does not hold the event loop', async (_name, form, text) => {
    responses.set('mcp', (res, body) => respondWith(text(body, form), form)(res))
    const session = (timeoutMs: number) =>
      withMcpSession(
        { fetch: guarded.fetch, target: { url: `${url}/mcp`, headers: {} }, timeoutMs },
        async (client, request) => {
          const params = { name: 'x', arguments: {} }
          await client.request({ method: 'tools/call', params }, callResult, request).catch(() => {})
          await client.request({ method: 'tools/list', params: {} }, toolPage, request)
        },
      ).catch(() => {})
    await withMcpSession(
      { fetch: guarded.fetch, target: { url: `${url}/none`, headers: {} }, timeoutMs: 1 },
      async () => {},
    ).catch(() => {})
    const { blockedMs, grownMb } = await blockedDuring(() => session(3_000))
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
    expect(grownMb).toBeLessThan(GROWN_MB)
  })
})

describe('JSON that is read as a whole, as dense as', () => {
  const dense: Record<string, string> = {
    'items that are nothing': '[],',
    'items of one digit': '1,',
    'numbers that doubles do not print': '1.0,',
    'objects with an escaped key': '{"\\u0061":1},',
    'texts of escapes': `"${'\\u0000'.repeat(1_000)}",`,
  }
  /** As much as there is room for, or as many as are taken. */
  const bodyOf = (members: string, one: string, bytes: number, most: number) =>
    `{${members}:[${one.repeat(Math.min(most, Math.floor((bytes - 200) / one.length)))}0]}`
  const channel = (): Channel => ({
    ...{ _id: 1, workspace: 1, hook: 'whatsapp', callback: 'whatsapp', handlerUrl: `${url}/json` },
    config: { apiUrl: `${url}/json`, accessToken: 'token', phoneNumberId: '1', businessAccountId: '2' },
  })
  const replica = { find: async () => [{ _id: 1, version: 1 }] }
  const record = {
    ...{ order: 1, tries: 0, attempts: [], timeline: [], body: '{}' },
    ...{ _id: 'm', workspace: 1, channel: 'c', thread: 't', source: 'api' },
  }
  const message = { extId: 'c', user: { phone: '1' }, thread: { extId: 't' }, answer: {}, input: 'hi' }
  const subscription = () => ({
    ...{ key: '1/1', shard: 0, workspace: 1, _id: 1, name: 'a', url: `${url}/json`, events: new Set(['a']) },
    ...{ signingSecret: `whsec_${btoa('a'.repeat(32))}`, account: 1, activeSince: 0 },
    ...{ isMarked: false, isMarkedFull: false, isFull: false },
  })
  const failed = () => 'failed'
  /** Whose answer it is, how many bytes of it are read at most, what is in it, and who asks. */
  const readers: Record<string, [number, string, () => Promise<unknown>]> = {
    'a list of templates': [
      2 * MB,
      '"data"',
      () =>
        createAskProvider({ replica, openChannel: channel, http })({ workspace: 1, id: 1 }, { kind: 'list' }),
    ],
    'a change of a template': [
      64 * 1024,
      '"error"',
      () =>
        createAskProvider({ replica, openChannel: channel, http })(
          { workspace: 1, id: 1 },
          { kind: 'remove', providerId: '1', name: 'a' },
        ),
    ],
    'a token': [
      64 * 1024,
      '"access_token":"a","more"',
      () => requestToken(http, { clientId: 'a', tokenUrl: `${url}/json` }, { kind: 'client' }).catch(failed),
    ],
    'metadata of an authorization server': [
      64 * 1024,
      '"authorization_servers"',
      () => findAuthorizationServer(http, `${url}/json`).catch(failed),
    ],
    'a registration': [
      64 * 1024,
      '"client_id":"a","more"',
      () =>
        registerClient(http, { registrationUrl: `${url}/json`, redirectUri: `${url}/back` }).catch(failed),
    ],
    'what a receiver of events says': [
      64 * 1024,
      '"a"',
      () =>
        createPostEvent({ http, secrets: { open: (text) => text }, now: Date.now })(
          { _id: 'e', payload: '{}' },
          subscription(),
          AbortSignal.timeout(60_000),
        ),
    ],
    'the answer of a handler': [
      MB,
      '"answer":{"message":"a"},"more"',
      () =>
        createHandle({ http, signer: createSigner(btoa('a'.repeat(32))) })({
          ...{ channel: channel(), record, message, signal: AbortSignal.timeout(60_000) },
        }),
    ],
    'the error of a handler': [
      MB,
      '"answer":{"submit":{"a":"b"}},"more"',
      () =>
        createHandle({ http, signer: createSigner(btoa('a'.repeat(32))) })({
          ...{ channel: channel(), record, message, signal: AbortSignal.timeout(60_000) },
        }),
    ],
  }
  const cases = Object.keys(readers).flatMap((reader) =>
    Object.keys(dense).flatMap((one) => [
      [reader, one, 'without end', Number.POSITIVE_INFINITY] as const,
      [reader, one, 'as far as they are taken', reader === 'a list of templates' ? 19_000 : 9_000] as const,
    ]),
  )
  test.each(cases)('%s of %s %s does not hold the event loop', async (reader, one, _much, most) => {
    const [bytes, members, ask] = readers[reader] ?? [0, '', async () => undefined]
    const respond = (body: string) => {
      for (const path of ['json', '.well-known'])
        responses.set(path, respondWith(body, JSON_TYPE, reader.startsWith('the error') ? 400 : 200))
    }
    respond('{}')
    await ask()
    respond(bodyOf(members, dense[one] ?? '', bytes, most))
    const { blockedMs, grownMb } = await blockedDuring(ask)
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
    expect(grownMb).toBeLessThan(GROWN_MB)
  })

  test('that is over the bound is refused, and what an operation answers for a model to read is not', async () => {
    responses.set('json', respondWith(`[${fill('1,', MB / 2)}1]`, JSON_TYPE))
    const call = { method: 'GET', url: `${url}/json`, headers: {}, timeoutMs: 60_000, maxBytes: MB }
    await expect(http.send(call)).rejects.toMatchObject({ failure: 'answer_too_large', status: 200 })
    const { body } = await http.send({ ...call, maxNodes: Number.POSITIVE_INFINITY })
    expect(body).toHaveLength(MB / 2 + 3)
  })
})

describe('a handler, function or store of media', () => {
  const inPieces = (bytes: number) => (res: ServerResponse) => {
    res.writeHead(200)
    // Each byte is a chunk of the transfer coding.
    const pieces = Buffer.from('1\r\na\r\n'.repeat(10_000))
    let sent = 0
    const more = () => {
      while (sent < bytes && !res.destroyed) {
        sent += 10_000
        if (!res.socket?.write(pieces)) return void res.socket?.once('drain', more)
      }
      if (!res.destroyed) res.socket?.end('0\r\n\r\n')
    }
    res.flushHeaders()
    more()
  }

  test('that answers byte by byte takes as much memory as its bytes', async () => {
    responses.set('pieces', inPieces(4 * MB))
    const { result, blockedMs, grownMb } = await blockedDuring(() =>
      http.getBytes({ url: `${url}/pieces`, headers: {}, timeoutMs: 60_000, maxBytes: 16 * MB }),
    )
    expect(result.body.length).toBeGreaterThanOrEqual(4 * MB)
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
    expect(grownMb).toBeLessThan(GROWN_MB)
  }, 90_000)

  test('that streams byte by byte is read as fast as its reader reads', async () => {
    responses.set('pieces', inPieces(MB))
    const response = await guarded.fetch(`${url}/pieces`)
    const { blockedMs, grownMb } = await blockedDuring(async () => {
      for await (const _ of response.body as ReadableStream<Uint8Array>);
    })
    expect(blockedMs).toBeLessThan(BLOCKED_MS)
    expect(grownMb).toBeLessThan(GROWN_MB)
  }, 90_000)
})

test('many answers at once hold the event loop no longer than one', async () => {
  const delta = event({ choices: [{ index: 0, delta: { content: 'a' } }] })
  responses.set('many', respondWith(fill(delta, MB), SSE))
  const choice = { provider: 'openai-compatible' as const, model: 'm', baseUrl: `${url}/many`, apiKey: 'k' }
  const client = createModelClient({ fetch: guarded.fetch })
  const ask = () => client.ask(choice, modelRequest({ timeoutMs: 60_000, onDelta: () => {} }))
  await ask()
  const { blockedMs } = await blockedDuring(() => Promise.all(Array.from({ length: 8 }, ask)))
  expect(blockedMs).toBeLessThan(BLOCKED_MS)
}, 120_000)

describe('answers that stop in the middle:', () => {
  const chat = (delta: object) => event({ choices: [{ index: 0, delta }] })
  const piece = 'a'.repeat(200_000)
  const long = piece.repeat(4)
  test.each<[number, string, string, string]>([
    [100, 'thoughts', 'stream', chat({ reasoning_content: piece }).repeat(20)],
    [100, 'texts', 'stream', chat({ content: piece }).repeat(20)],
    [300, 'halves of an event', 'stream', `data: {"choices":[{"delta":{"content":"${piece}`],
    [300, 'whole answers', 'whole', `{"choices":[{"message":{"content":"${long}${long}`],
    [300, 'answers of handlers', 'handler', `{"answer":"${long}`],
  ])('%s %s take no more memory than there is for them', async (count, _name, asked, text) => {
    const headers = { 'content-type': asked === 'stream' ? SSE : JSON_TYPE }
    const body = Buffer.from(text)
    responses.set('stalled', (res) => void res.writeHead(200, headers).write(body))
    const heapMib = 96
    const script = fileURLToPath(new URL('stalled-responses.ts', import.meta.url))
    const given = [`--max-old-space-size=${heapMib}`, script, `${url}/stalled`, asked, `${count}`]
    const { stdout } = await promisify(execFile)(process.execPath, given)
    const { peakMb, ended } = JSON.parse(stdout)
    expect(peakMb).toBeLessThan(memoryBound('small', heapMib).atMostMib)
    // Responses that have room go on waiting.
    expect(ended).toBeLessThan(count)
  })
})

/**
 * Runs something, and says how long, in milliseconds of processor time of this thread, it held the event loop at most,
 * and by how many MB the process grew. Time is not that of the clock, which other processes of the machine take from.
 */
async function blockedDuring<T>(
  run: () => Promise<T>,
): Promise<{ result: T; blockedMs: number; grownMb: number }> {
  const before = process.memoryUsage.rss()
  let longest = 0
  let peak = before
  let last = busyMs()
  let turns = 0
  let next: NodeJS.Immediate
  const look = () => {
    const now = busyMs()
    longest = Math.max(longest, now - last)
    last = now
    if (++turns % 50 === 0) peak = Math.max(peak, process.memoryUsage.rss())
    next = setImmediate(look)
  }
  next = setImmediate(look)
  try {
    const result = await run()
    await new Promise(setImmediate)
    return { result, blockedMs: longest, grownMb: (peak - before) / 1024 / 1024 }
  } finally {
    clearImmediate(next)
  }
}

function busyMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
