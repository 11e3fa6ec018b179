import type { ServerResponse } from 'node:http'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { actionOf, agentOf, callTool, credentials, startTools } from '../agent-world.ts'
import { type CallEndpoint, type EndpointCall, startCallEndpoint } from '../call-endpoint.ts'
import { specAt } from '../functions/function-bodies.ts'
import { type EverythingServer, speaking, startEverythingServer, text, tool } from './mcp-server.ts'

let everything: EverythingServer
let rough: CallEndpoint
let tools: ReturnType<typeof startTools>

beforeAll(async () => {
  everything = await startEverythingServer()
  rough = await startCallEndpoint()
})
afterAll(async () => {
  await everything.close()
  await rough.close()
})
beforeEach(() => {
  rough.forget()
  tools = startTools()
})
afterEach(() => tools.close())

const server = (url: string, more: object = {}) =>
  actionOf({ _id: 50, specType: 'mcp', moduleUrl: url, ...more })
const roughServer = (more: object = {}) => server(`${rough.url}/mcp`, more)
/** An action that works, beside the server. */
const refunds = () => actionOf({ _id: 51, spec: specAt(rough.url) })
const namesOf = (toolbox: { descriptions: { name: string }[] }) =>
  toolbox.descriptions.map(({ name }) => name)
const OWN = ['callback', 'handOff']

describe('the published MCP server', () => {
  test('its tools join those of the actions, and are called with arguments that fit', async () => {
    const toolbox = await tools.open(agentOf([refunds(), server(everything.url)]))
    expect(namesOf(toolbox)).toEqual(expect.arrayContaining([...OWN, 'refund', 'echo', 'get-sum']))
    expect(toolbox.notes).toEqual([expect.stringContaining('which runs as a task only')])
    expect(toolbox.instructions).toEqual([
      { server: 'Orders', instructions: expect.stringContaining('Everything Server') },
    ])
    const echo = toolbox.descriptions.find(({ name }) => name === 'echo')
    expect(echo?.inputSchema).toMatchObject({
      type: 'object',
      properties: { message: { type: 'string' } },
      required: ['message'],
    })
    expect(await callTool(toolbox, 'echo', { message: 'hello' })).toEqual({
      kind: 'answered',
      result: { state: 'done', text: 'Echo: hello' },
    })
    expect(await callTool(toolbox, 'get-sum', { a: 2, b: 3 })).toMatchObject({
      result: { text: expect.stringContaining('5') },
    })
    expect(await toolbox.open({ tool: 'get-sum', args: '{"a":"two","b":3}' })).toEqual({
      kind: 'invalid',
      reason: 'The argument /a breaks "type" of the schema.',
    })
  })

  test('says an image or a resource in words, and its images are there for a model that sees', async () => {
    const toolbox = await tools.open(agentOf([server(everything.url)]))
    expect(await callTool(toolbox, 'get-tiny-image', {})).toMatchObject({
      result: { state: 'done', text: expect.stringContaining('[image image/png, 4 KiB]') },
    })
    expect(tools.toolImages.get('m:t0:0')).toEqual([{ mediaType: 'image/png', data: expect.any(Buffer) }])
    expect(await callTool(toolbox, 'get-resource-links', { count: 1 })).toMatchObject({
      result: { text: expect.stringMatching(/\[resource .*demo:\/\/resource/) },
    })
    expect(
      await callTool(toolbox, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
    ).toMatchObject({ result: { text: expect.stringMatching(/\[resource demo:\/\/.*\]\n/) } })
    expect(await callTool(toolbox, 'get-structured-content', { location: 'Chicago' })).toMatchObject({
      result: { text: expect.stringMatching(/^\{[^{]*temperature[^{]*\}$/) },
    })
  })

  test('tells of its progress, by which a call may take longer than its time limit', async () => {
    const configs = new Map([['settings', { timeoutSeconds: 2 }]])
    const toolbox = await tools.open(agentOf([server(everything.url, { configs })]))
    expect(
      await callTool(toolbox, 'trigger-long-running-operation', { duration: 4, steps: 8 }),
    ).toMatchObject({ result: { state: 'done', text: expect.stringContaining('completed') } })
    expect(
      await callTool(toolbox, 'trigger-long-running-operation', { duration: 6, steps: 1 }),
    ).toMatchObject({ kind: 'unreached', reason: 'no answer in time' })
    toolbox.close?.()
  })
})

describe('the tools of a server', () => {
  test('are listed once in their time, and then anew', async () => {
    let version = 1
    rough.respond = speaking(() => ({ tools: [tool(`v${version}`)] }))
    const open = async () => namesOf(await tools.open(agentOf([roughServer()])))
    expect(await Promise.all([open(), open()])).toEqual([
      [...OWN, 'v1'],
      [...OWN, 'v1'],
    ])
    const lists = () => rough.calls.filter(({ text }) => text.includes('"tools/list"')).length
    expect(lists()).toBe(1)
    version = 2
    await eventually(async () => (await open()).includes('v2'))
    expect(lists()).toBe(2)
    expect(namesOf(await tools.open(agentOf([roughServer({ version: 2 })])))).toContain('v2')
    expect(lists()).toBe(3)
  })

  test('that it has no more say so when they are called', async () => {
    rough.respond = speaking(
      () => ({ tools: [tool('gone')] }),
      () => ({ error: { code: -32_602, message: 'unknown tool gone' } }),
    )
    expect(await callTool(await tools.open(agentOf([roughServer()])), 'gone', {})).toMatchObject({
      kind: 'answered',
      result: { state: 'failed', text: expect.stringContaining('unknown tool gone') },
    })
  })

  test('are 128 at most of 10,000, and it is said that there are more', async () => {
    const many = Array.from({ length: 10_000 }, (_, n) => tool(`t${n}`))
    rough.respond = speaking(() => ({ tools: many, nextCursor: 'more' }))
    const toolbox = await tools.open(agentOf([refunds(), roughServer()]))
    expect(toolbox.descriptions.length).toBe(128)
    expect(namesOf(toolbox)).toContain('refund')
    expect(toolbox.notes?.join(' ')).toMatch(
      /9872 more tools of the MCP server of action 50 .*its list goes on/,
    )
    expect(rough.calls.filter(({ text }) => text.includes('"tools/list"')).length).toBe(1)
  })

  test('with pages without end are read ten pages far', async () => {
    let page = 0
    rough.respond = speaking(() => ({ tools: [tool(`t${page}`)], nextCursor: `page ${++page}` }))
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect(page).toBe(10)
    expect(namesOf(toolbox).length).toBe(OWN.length + 10)
    expect(toolbox.notes?.join()).toContain('its list goes on')
  })

  test('whose pages go in a circle are each listed once', async () => {
    const pages = new Map([
      [undefined, { tools: [tool('a')], nextCursor: 'two' }],
      ['two', { tools: [tool('b')], nextCursor: 'three' }],
      ['three', { tools: [tool('c')], nextCursor: 'two' }],
    ])
    rough.respond = speaking(({ json }) => pages.get(json.params.cursor) ?? {})
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect(namesOf(toolbox)).toEqual([...OWN, 'a', 'b', 'c'])
    expect(toolbox.notes).toEqual([])
  })

  test.each<[string, (call: EndpointCall, res: ServerResponse) => void]>([
    ['hangs', () => undefined],
    [
      'hangs in the middle of its answer',
      (_call, res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    ],
    [
      'answers rubbish',
      (_call, res) => void res.writeHead(200, { 'content-type': 'application/json' }).end('<html>'),
    ],
    [
      'answers with a page',
      (_call, res) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    ['breaks off', (_call, res) => void res.destroy()],
    [
      'answers without end',
      (_call, res) => {
        res.writeHead(200, { 'content-type': 'application/json' })
        const more = () => {
          if (!res.destroyed && res.write(' '.repeat(65_536))) setImmediate(more)
          else res.once('drain', more)
        }
        more()
      },
    ],
    [
      'asks its client without end',
      (call, res) => {
        if (call.json?.method !== 'initialize') return void res.writeHead(202).end()
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        for (let id = 1; id < 5_000; id++) res.write(`data: {"jsonrpc":"2.0","id":${id},"method":"ping"}\n\n`)
      },
    ],
    ['redirects', (_call, res) => void res.writeHead(307, { location: '/other' }).end()],
    ['refuses', (_call, res) => void res.writeHead(401).end('who are you?')],
    ['lists what is no list', speaking(() => ({ tools: 'none' }))],
  ])('are missing when it %s, it is said, and the other tools work', async (_name, respond) => {
    await tools.close()
    tools = startTools({ listMs: 1_000 })
    rough.respond = (call, res) =>
      call.path === '/mcp' ? respond(call, res) : void res.writeHead(200).end('{}')
    const toolbox = await tools.open(agentOf([roughServer(), refunds()]))
    expect(namesOf(toolbox)).toEqual([...OWN, 'refund'])
    expect(toolbox.notes).toEqual([
      expect.stringContaining('The tools of the MCP server of action 50 are missing:'),
    ])
    expect((await callTool(toolbox, 'refund', { order: 'o', amount: 1 })).kind).toBe('answered')
    expect(await toolbox.open({ tool: 'lost', args: '{}' })).toEqual({
      kind: 'invalid',
      reason: expect.stringContaining('are missing'),
    })
    expect(rough.calls.filter(({ path }) => path === '/other')).toEqual([])
    expect(rough.calls.length).toBeLessThan(30)
  })

  test('with schemas that can not be shown are left out or bounded, one by one', async () => {
    const circle = { type: 'object', properties: { a: { $ref: '#/properties/a' } } }
    const torn = { type: 'object', properties: { a: { $ref: 'http://169.254.169.254/x' } } }
    const long = { type: 'object', description: 'x'.repeat(40_000) }
    const listed = [
      tool('circle', { inputSchema: circle }),
      tool('torn', { inputSchema: torn }),
      tool('long', { inputSchema: long }),
      tool('x y'),
    ]
    rough.respond = speaking(
      () => ({ tools: listed }),
      () => text('done'),
    )
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect(namesOf(toolbox)).toEqual([...OWN, 'circle', 'x_y'])
    expect(toolbox.notes?.join(' ')).toMatch(/1 more tools.*refers to something outside/)
    expect(await callTool(toolbox, 'x_y', {})).toMatchObject({ result: { text: 'done' } })
    expect(rough.calls.some(({ text }) => text.includes('"name":"x y"'))).toBe(true)
  })
})

describe('a config that chooses tools of a server by their names', () => {
  const listed = speaking(() => ({ tools: [tool('order'), tool('refund'), tool('cancel')] }))
  const chosenBy = async (operations: string[]) => {
    const configs = new Map([['settings', { operations }]])
    const toolbox = await tools.open(agentOf([roughServer({ configs })]))
    return { names: namesOf(toolbox).filter((name) => !OWN.includes(name)), notes: toolbox.notes }
  }

  test('leaves the others out, and names what the server does not have', async () => {
    rough.respond = listed
    expect(await chosenBy(['refund', 'order'])).toEqual({ names: ['order', 'refund'], notes: [] })
    expect(await chosenBy([])).toEqual({ names: [], notes: [] })
    const { names, notes } = await chosenBy(['refund', 'repay'])
    expect(names).toEqual(['refund'])
    expect(notes).toEqual([expect.stringContaining('"repay"')])
  })
})

describe('a call of a tool of a server', () => {
  const calling = async (
    called: Parameters<typeof speaking>[1],
    { listed = [tool('work')] as object[], more = {} } = {},
  ) => {
    rough.respond = speaking(() => ({ tools: listed }), called)
    return callTool(await tools.open(agentOf([roughServer(more)])), 'work', { n: 1 })
  }

  test('carries its id, and ends its session', async () => {
    await calling(() => text('done'))
    const call = rough.calls.find(({ text }) => text.includes('"tools/call"'))
    expect(call?.headers['idempotency-key']).toBe('m:t0:0')
    expect(call?.json.params).toMatchObject({ name: 'work', arguments: { n: 1 } })
  })

  test('reaches the server that was meant, whatever its name stands for by then, or none', async () => {
    let isListed = true
    const called: string[] = []
    rough.respond = (call, res) => {
      if (call.path === '/a' && !isListed) return void res.writeHead(401).end()
      const own = call.path.slice(1)
      speaking(
        () => ({ tools: [tool('create_ticket')] }),
        () => {
          called.push(own)
          return text('created')
        },
      )(call, res)
    }
    const [a, b] = ['a', 'b'].map((path, n) => server(`${rough.url}/${path}`, { _id: 60 + n }))
    const servers = agentOf([a, b].flatMap((one) => one ?? []))
    const shown = await tools.open(servers)
    const [ofA, ofB] = ['create_ticket', 'create_ticket_2'].map(shown.sourceOf)
    expect([ofA, ofB]).toEqual([
      { action: 60, name: 'create_ticket' },
      { action: 61, name: 'create_ticket' },
    ])
    isListed = false
    await tools.close()
    tools = startTools()
    const later = await tools.open(servers)
    expect(namesOf(later)).toEqual([...OWN, 'create_ticket'])
    const call = { tool: 'create_ticket', args: '{}' }
    expect(await later.open({ ...call, ...(ofA && { of: ofA }) })).toEqual({
      kind: 'invalid',
      reason: expect.stringMatching(/"create_ticket" is not there any more.*action 60 are missing/),
    })
    const opened = await later.open({ ...call, tool: 'create_ticket_2', ...(ofB && { of: ofB }) })
    if (opened.kind === 'call') await opened.deliver('m:1')
    expect(called).toEqual(['b'])
  })

  test('that the server refuses has failed, and a long result is cut', async () => {
    expect(await calling(() => text('no such order', { isError: true }))).toEqual({
      kind: 'answered',
      result: { state: 'failed', text: 'no such order' },
    })
    expect(await calling(() => text('x'.repeat(20_000)), { more: { version: 2 } })).toMatchObject({
      result: { cut: true, text: 'x'.repeat(16_384) },
    })
    expect(
      await calling(() => ({ content: [], structuredContent: { a: 1 } }), { more: { version: 3 } }),
    ).toMatchObject({
      result: { text: '{"a":1}' },
    })
  })

  test('that may have run is not made again, unless its server or its action says that it may be', async () => {
    const breaks = (_call: EndpointCall, res: ServerResponse) => void res.destroy()
    expect(await calling(breaks)).toMatchObject({
      kind: 'uncertain',
      result: { state: 'failed', uncertain: true, text: expect.stringContaining('may have been done') },
    })
    const idempotent = tool('work', { annotations: { idempotentHint: true } })
    expect(await calling(breaks, { listed: [idempotent], more: { version: 2 } })).toMatchObject({
      kind: 'unreached',
    })
    const configs = new Map([['settings', { idempotent: true }]])
    expect(await calling(breaks, { more: { version: 3, configs } })).toMatchObject({ kind: 'unreached' })
  })

  test('to a server that can not be reached is tried again', async () => {
    rough.respond = speaking(() => ({ tools: [tool('work')] }))
    const toolbox = await tools.open(agentOf([roughServer()]))
    rough.respond = (_call, res) => void res.destroy()
    expect(await callTool(toolbox, 'work', {})).toMatchObject({ kind: 'unreached' })
  })

  test('has the credentials of its action in its headers, which are in no result and go nowhere else', async () => {
    const configs = credentials({ token: 'tok-never', credentials: { headers: { 'X-Tenant': 'ten-never' } } })
    const outcome = await calling(
      ({ headers }) => text(`${headers.authorization} ${headers['x-tenant']}`, { isError: true }),
      { more: { configs } },
    )
    const call = rough.calls.find(({ text }) => text.includes('"tools/call"'))
    expect([call?.headers.authorization, call?.headers['x-tenant']]).toEqual([
      'Bearer tok-never',
      'ten-never',
    ])
    expect(JSON.stringify(outcome)).not.toContain('never')
    const elsewhere = await startCallEndpoint()
    rough.respond = (_call, res) => void res.writeHead(307, { location: `${elsewhere.url}/mcp` }).end()
    const toolbox = await tools.open(agentOf([roughServer({ version: 7, configs })]))
    expect(elsewhere.calls).toEqual([])
    rough.respond = ({ headers }, res) => void res.writeHead(401).end(`bad ${headers.authorization}`)
    const refused = await tools.open(agentOf([roughServer({ version: 8, configs })]))
    expect(JSON.stringify([toolbox.notes, refused.notes])).not.toContain('never')
    expect(refused.notes?.join()).toContain('bad Bearer ••••')
    await elsewhere.close()
  })
})

describe('what servers write that is not quite the protocol', () => {
  test.each<[string, object]>([
    ['a schema without a type', { inputSchema: { properties: { a: { type: 'string' } } } }],
    [
      'a schema that names its dialect alone',
      { inputSchema: { $schema: 'http://json-schema.org/draft-07/schema#' } },
    ],
    ['an empty schema', { inputSchema: {} }],
    ['no schema', { inputSchema: null }],
    ['a schema whose type may be null', { inputSchema: { type: ['object', 'null'] } }],
    [
      'alternatives of all arguments',
      { inputSchema: { anyOf: [{ type: 'object', properties: { a: {} } }] } },
    ],
    ['a schema of results without a type', { outputSchema: { $id: 'result.v1' } }],
    ['null for what it does not say', { description: null, annotations: null, execution: null, title: null }],
    ['hints that are null', { annotations: { readOnlyHint: null, idempotentHint: null, title: null } }],
  ])('%s is no reason to leave a tool out', async (_, more) => {
    rough.respond = speaking(
      () => ({ tools: [tool('odd', more), tool('plain')], nextCursor: null }),
      () => text('done'),
    )
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect([namesOf(toolbox), toolbox.notes]).toEqual([[...OWN, 'odd', 'plain'], []])
    const odd = toolbox.descriptions.find(({ name }) => name === 'odd')
    expect(odd?.inputSchema).toMatchObject({ type: 'object' })
    expect(await callTool(toolbox, 'odd', {})).toMatchObject({ result: { state: 'done', text: 'done' } })
  })

  test('a tool that can not be read is left out alone, by its name, with the reason', async () => {
    const list = {
      tools: [tool('lookup', { inputSchema: { type: 'string' } }), { inputSchema: {} }, 7, tool('plain')],
    }
    rough.respond = speaking(() => list)
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect(namesOf(toolbox)).toEqual([...OWN, 'plain'])
    const notes = toolbox.notes?.join(' ') ?? ''
    expect(notes).toMatch(/"lookup", which takes arguments that are no object/)
    expect(notes).toMatch(/at \/name \(it has no name\)/)
    expect(notes).not.toContain('too many')
  })

  test.each<[string, object, string]>([
    [
      'null in its blocks',
      {
        content: [{ type: 'text', text: 'Hi', annotations: null, uri: null }],
        structuredContent: null,
        isError: null,
      },
      'Hi',
    ],
    ['no content', { structuredContent: { a: 1 } }, '{"a":1}'],
    ['null for its content', { content: null }, 'It answered with nothing.'],
  ])('a result with %s is read', async (_, result, expected) => {
    rough.respond = speaking(
      () => ({ tools: [tool('plain')] }),
      () => result,
    )
    const toolbox = await tools.open(agentOf([roughServer()]))
    expect(await callTool(toolbox, 'plain', {})).toMatchObject({ result: { state: 'done', text: expected } })
  })
})
