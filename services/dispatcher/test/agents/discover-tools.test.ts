import { BlockList } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { createDiscoverTools, type DiscoverTools } from '../../src/agents/tools/discover-tools.ts'
import { createGuardedFetch, type GuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { createHttpClient, type HttpClient } from '../../src/channels/http/http-client.ts'
import { createSpecReader, type SpecReader } from '../../src/functions/spec-reader.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { specAt } from '../functions/function-bodies.ts'
import { speaking, tool } from './mcp-server.ts'

const MAX_BYTES = 1024 * 1024

let endpoint: CallEndpoint
let specs: SpecReader
let http: HttpClient
let guarded: GuardedFetch
let discover: DiscoverTools

beforeAll(async () => {
  endpoint = await startCallEndpoint()
  specs = createSpecReader()
  const allowed = new BlockList()
  allowed.addSubnet('127.0.0.0', 8)
  http = createHttpClient({ allowed })
  guarded = createGuardedFetch({ allowed, maxBytes: MAX_BYTES, maxSockets: 8 })
  discover = createDiscoverTools({ http, specs, fetch: guarded.fetch })
})
afterAll(async () => {
  http.close()
  guarded.close()
  await specs.close()
  await endpoint.close()
})
beforeEach(() => endpoint.forget())

const found = () => discover({ workspace: 1, url: `${endpoint.url}/there` })

test('an OpenAPI document is found as it is, and nothing is posted to its server', async () => {
  const spec = specAt(endpoint.url)
  endpoint.respond = (_call, res) => void res.writeHead(200).end(spec)
  expect(await found()).toEqual({ specType: 'openapi3-yaml', spec, tools: [], notes: [] })
  expect(endpoint.calls.map(({ method }) => method)).toEqual(['GET'])
})

test('a document without an operationId is found, and that is said', async () => {
  const spec = JSON.stringify({ openapi: '3.1.0', info: { title: 'Shop', version: '1' }, paths: {} })
  endpoint.respond = (_call, res) => void res.writeHead(200).end(spec)
  expect(await found()).toMatchObject({
    specType: 'openapi3-yaml',
    notes: ['The document has no operation with an operationId.'],
  })
})

test('an MCP server is found with its tools', async () => {
  endpoint.respond = speaking(() => ({
    tools: [tool('order', { description: 'Where it is' }), tool('refund')],
  }))
  expect(await found()).toEqual({
    specType: 'mcp',
    tools: [
      { name: 'order', description: 'Where it is' },
      { name: 'refund', description: '' },
    ],
    notes: [],
  })
})

test('a server that asks for credentials is taken for one of MCP whose tools are not known', async () => {
  endpoint.respond = (_call, res) => void res.writeHead(401).end()
  expect(await found()).toMatchObject({
    specType: 'mcp',
    tools: [],
    notes: ['The server asks for credentials, so its tools are not known yet.'],
  })
})

test.each([
  ['no page', 404, {}, '', 'The answer has the status 404.'],
  ['a web page', 200, {}, '<html><body>Hello</body></html>', 'It '],
  [
    'a redirect',
    302,
    { location: 'https://elsewhere.example/' },
    '',
    'It redirects to https://elsewhere.example/',
  ],
])('%s is neither, and both reasons are said', async (_name, status, headers, body, reason) => {
  endpoint.respond = (_call, res) => void res.writeHead(status, headers).end(body)
  const { specType, notes } = await found()
  expect(specType).toBeUndefined()
  expect(notes).toEqual([
    expect.stringContaining(`It is no OpenAPI document: ${reason}`),
    expect.stringContaining('It is no MCP server: '),
  ])
})

test('an address that is private is not called', async () => {
  const { notes } = await discover({ workspace: 1, url: 'http://10.0.0.1/openapi.json' })
  expect(notes.join(' ')).toContain('private, loopback or link-local address')
})
