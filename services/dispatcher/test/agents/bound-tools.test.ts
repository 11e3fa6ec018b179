import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { verifyWebhook } from '../../../../shared/client/src/webhook.ts'
import { actionOf, agentOf, callTool, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'
import { SECRET, specAt } from '../functions/function-bodies.ts'
import { speaking, text, tool } from './mcp-server.ts'

let endpoint: CallEndpoint
const tools = startTools()

beforeAll(async () => {
  endpoint = await startCallEndpoint()
})
afterAll(async () => {
  await tools.close()
  await endpoint.close()
})
beforeEach(() => endpoint.forget())

const PHONE = '+5511988887777'
const joao = { user: { name: 'João', phone: PHONE, addresses: ['telegram:4711'] }, thread: { extId: 'joao' } }
const settings = (value: JsonObject) => new Map([['settings', value]])
const bound = (value: JsonObject) => settings({ 'x-parley-value': value })
const refunds = (configs: Map<string, JsonObject>) =>
  actionOf({ _id: 1, spec: specAt(endpoint.url), configs })
const server = (configs: Map<string, JsonObject>) =>
  actionOf({ _id: 2, specType: 'mcp', moduleUrl: `${endpoint.url}/mcp`, configs })
const own = { config: { assistantId: 1, signingSecrets: [SECRET] } }
const opened = (action: ReturnType<typeof actionOf>, of: object = joao) =>
  tools.open(agentOf([action]), own, of)
const schemaOf = (toolbox: Awaited<ReturnType<typeof opened>>, named: string) =>
  toolbox.descriptions.find(({ name }) => name === named)?.inputSchema

const ofServer = [
  tool('lookUp', {
    inputSchema: {
      ...{ type: 'object', required: ['customer'] },
      properties: {
        customer: { type: 'string', 'x-parley-value': '{{person.name}}' },
        q: { type: 'string' },
      },
    },
  }),
  tool('ping'),
]
const speak = () => {
  endpoint.respond = speaking(
    () => ({ tools: ofServer }),
    (call) => text(JSON.stringify(call.json.params.arguments)),
  )
}
const callOf = () => endpoint.calls.find(({ text }) => text.includes('tools/call'))

describe('what an action binds', () => {
  test('is neither shown to a model nor its to set, of an operation and of a tool of an MCP server', async () => {
    const ofSpec = await opened(refunds(bound({ order: '{{person.phone}}' })))
    expect(schemaOf(ofSpec, 'refund')).toMatchObject({ properties: { amount: {} }, required: ['amount'] })
    await callTool(ofSpec, 'refund', { order: 'of-maria', amount: 5 })
    expect(endpoint.calls).toMatchObject([
      { path: `/v1/orders/${encodeURIComponent(PHONE)}/refund`, text: '{"amount":5}' },
    ])

    speak()
    const shop = await opened(server(bound({ customer: '{{person.phone}}' })))
    expect(schemaOf(shop, 'lookUp')).toEqual({
      type: 'object',
      properties: { q: { type: 'string' } },
      required: [],
    })
    expect(await callTool(shop, 'lookUp', { customer: 'maria', Customer: 'maria', q: 'x' })).toMatchObject({
      result: { text: JSON.stringify({ q: 'x', customer: PHONE }) },
    })
    expect(await callTool(shop, 'ping', {})).toMatchObject({ result: { text: '{}' } })
  })

  test('is never sent without its value: the model reads why', async () => {
    const unknown = { user: { name: 'João' } }
    const ofSpec = await opened(refunds(bound({ order: '{{person.phone}}' })), unknown)
    const result = { state: 'failed', text: expect.stringContaining('{{person.phone}}') }
    expect(await callTool(ofSpec, 'refund', { order: 'of-maria', amount: 5 })).toEqual({
      kind: 'answered',
      result,
    })
    expect(endpoint.calls).toEqual([])
    speak()
    const shop = await opened(server(bound({ customer: '{{person.phone}}' })), unknown)
    expect(await callTool(shop, 'lookUp', { customer: 'maria' })).toEqual({ kind: 'answered', result })
    expect(callOf()).toBeUndefined()
  })

  test('takes all tools of the action away where it is misspelled, and says so; others stay', async () => {
    speak()
    const wrong: [ReturnType<typeof actionOf>, string][] = [
      [refunds(bound({ ordr: '{{person.phone}}' })), 'none has "ordr"'],
      [server(bound({ custmer: '{{person.phone}}' })), 'none has "custmer"'],
      [refunds(bound({ order: '{{person.fone}}' })), 'no variable'],
      [server(bound({ customer: 'a {{' })), 'braces'],
    ]
    for (const [action, reason] of wrong) {
      const toolbox = await tools.open(agentOf([action, actionOf({ _id: 9, spec: specAt(endpoint.url) })]))
      expect(toolbox.descriptions.map(({ name }) => name)).toEqual(['callback', 'handOff', 'refund'])
      expect(toolbox.notes).toEqual([expect.stringContaining(reason)])
    }
  })

  test('is not what the schema of a foreign server says', async () => {
    speak()
    const shop = await opened(server(new Map()))
    expect(schemaOf(shop, 'lookUp')).toMatchObject({ required: ['customer'] })
    expect(await callTool(shop, 'lookUp', { customer: 'c' })).toMatchObject({
      result: { text: '{"customer":"c"}' },
    })
  })
})

describe('the signed header of a call', () => {
  test('says whom it is for, where the action asks for it', async () => {
    await callTool(await opened(refunds(new Map())), 'refund', { order: 'o', amount: 5 })
    await callTool(await opened(refunds(settings({ signedContext: true }))), 'refund', {
      order: 'o',
      amount: 5,
    })
    const [plain, signed] = endpoint.calls.map(({ headers }) => headers)
    expect(plain?.['parley-context']).toBeUndefined()
    const context = verifyWebhook(signed ?? {}, String(signed?.['parley-context']), SECRET)
    expect(context).toEqual({
      ...{ id: 'm:t0:0', messageId: 'm', workspace: 1, channel: 1, extId: 'c' },
      ...{ user: joao.user, thread: { extId: 'joao' }, action: 1, operationId: 'refund' },
    })
    expect(signed?.['webhook-id']).toBe(signed?.['idempotency-key'])
  })

  test('goes along to MCP servers with the call alone', async () => {
    speak()
    await callTool(await opened(server(settings({ signedContext: true }))), 'ping', {})
    const headers = callOf()?.headers ?? {}
    expect(verifyWebhook(headers, String(headers['parley-context']), SECRET)).toMatchObject({
      ...{ action: 2, operationId: 'ping', user: { phone: PHONE } },
    })
  })

  test('can not be set by a model, and leaves out what is too long for a header', async () => {
    const names = ['Parley-Context', 'webhook-id', 'Webhook-Signature']
    const parameters = names.map((name) => ({ name, in: 'header', schema: { type: 'string' } }))
    const paths = { '/x': { get: { operationId: 'x', parameters } } }
    const spec = JSON.stringify({ openapi: '3.1.0', servers: [{ url: endpoint.url }], paths })
    const action = actionOf({ _id: 3, spec, configs: settings({ signedContext: true }) })
    const toolbox = await opened(action, { user: { name: 'x'.repeat(600), phone: PHONE } })
    await callTool(toolbox, 'x', Object.fromEntries(names.map((name) => [name, 'false'])))
    const headers = endpoint.calls[0]?.headers ?? {}
    expect(verifyWebhook(headers, String(headers['parley-context']), SECRET)).toMatchObject({
      user: { phone: PHONE, addresses: [] },
    })
  })
})
