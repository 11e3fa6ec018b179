import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { WebhookMessage } from '@parley/shared/message'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { createSigner } from '../../src/channels/signing.ts'
import { config } from '../../src/config.ts'
import { createCallSettingsOf } from '../../src/functions/call-settings.ts'
import { createFindAction } from '../../src/functions/find-action.ts'
import { createFunctions } from '../../src/functions/functions.ts'
import { createReadOperationCall } from '../../src/functions/operation-call.ts'
import { effectOf, isIdempotent } from '../../src/functions/repeatable.ts'
import { createSpecReader } from '../../src/functions/spec-reader.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { actionOf, agentOf, callTool, channel, documentsOf, noTokens, startTools } from '../agent-world.ts'
import { type CallEndpoint, startCallEndpoint } from '../call-endpoint.ts'

const METHODS = ['get', 'head', 'put', 'delete', 'options', 'post', 'patch']
const KEYS = {
  none: {},
  'by the operation': { operation: [{ name: 'Idempotency-Key', in: 'header', schema: {} }] },
  'by the path, in capitals': { item: [{ name: 'IDEMPOTENCY-KEY', in: 'header', schema: {} }] },
  'by a reference': { operation: [{ $ref: '#/components/parameters/Key' }] },
  'as a query parameter': { operation: [{ name: 'Idempotency-Key', in: 'query', schema: {} }] },
}
const CONFIGS = {
  none: undefined,
  'idempotent: true': { idempotent: true },
  'idempotent: false': { idempotent: false },
  'idempotent: "true"': { idempotent: 'true' },
}
type Response = number | 'nothing' | 'nobody'
/** The results of a call by its failure, where it may be repeated and where it may not. */
const FAILURES: [Response, { repeatable: string; other: string; tool: string; otherTool: string }][] = [
  [
    'nothing',
    { repeatable: 'no_answer', other: 'effect_unknown', tool: 'unreached', otherTool: 'uncertain' },
  ],
  ['nobody', { repeatable: 'not_reached', other: 'not_reached', tool: 'unreached', otherTool: 'unreached' }],
  [500, { repeatable: 'http_500', other: 'effect_unknown', tool: 'answered', otherTool: 'uncertain' }],
  [503, { repeatable: 'http_503', other: 'effect_unknown', tool: 'answered', otherTool: 'uncertain' }],
  [408, { repeatable: 'http_408', other: 'effect_unknown', tool: 'answered', otherTool: 'uncertain' }],
  [429, { repeatable: 'http_429', other: 'http_429', tool: 'answered', otherTool: 'answered' }],
  [425, { repeatable: 'http_425', other: 'http_425', tool: 'answered', otherTool: 'answered' }],
  [404, { repeatable: 'http_404', other: 'http_404', tool: 'answered', otherTool: 'answered' }],
  [200, { repeatable: 'accepted', other: 'accepted', tool: 'answered', otherTool: 'answered' }],
]

let endpoint: CallEndpoint
let gone: string
const specs = createSpecReader()
const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS.parse('127.0.0.0/8') })
const tools = startTools()
const readCall = createReadOperationCall({ specs, http, signer: createSigner('the key of this test') })

beforeAll(async () => {
  endpoint = await startCallEndpoint()
  const other = await startCallEndpoint()
  gone = other.url
  await other.close()
})
afterAll(async () => {
  http.close()
  await specs.close()
  await tools.close()
  await endpoint.close()
})
beforeEach(() => endpoint.forget())

function specOf(server: string, method: string, keys: { operation?: object[]; item?: object[] }): string {
  const { operation = [], item = [] } = keys
  const components = { parameters: { Key: { name: 'idempotency-key', in: 'header', schema: {} } } }
  const paths = { '/work': { parameters: item, [method]: { operationId: 'work', parameters: operation } } }
  return JSON.stringify({ openapi: '3.1.0', info: {}, servers: [{ url: server }], paths, components })
}

interface Given {
  method: string
  keys: keyof typeof KEYS
  settings: keyof typeof CONFIGS
  module: boolean
  response: Response
}

function actionFor({ method, keys, settings, module, response }: Given) {
  const server = response === 'nobody' ? gone : endpoint.url
  const value = CONFIGS[settings]
  endpoint.respond = (_call, res) =>
    void (typeof response === 'number' ? res.writeHead(response).end() : res.destroy())
  return {
    value,
    fields: {
      version: ++versions,
      spec: specOf(server, method, KEYS[keys]),
      moduleUrl: module ? `${server}/module` : 'native:request',
    },
  }
}
let versions = 0

/** As a function of an answer that a caller posted. */
async function asFunction(given: Given): Promise<{ code: string; isRepeatable: boolean | undefined }> {
  const { fields, value } = actionFor(given)
  const replica = documentsOf({
    assistant: { 1: { actions: [7] } },
    actions: { 7: { name: '', description: '', specType: 'openapi3-yaml', ...fields } },
    configs: value === undefined ? {} : { 3: { name: 'settings', value, owner: 7, ownerType: 'action' } },
  })
  // Replicas have a version of each document, by which specs are read once.
  const find: typeof replica.find = async (query) =>
    (await replica.find(query)).map((one) => ({ ...one, version: fields.version }))
  const functions = createFunctions({
    findAction: createFindAction({
      replica: { find: find as never },
      secrets: { open: () => undefined },
      specs,
    }),
    readCall,
    credentialsOf: async () => undefined,
    callSettingsOf: createCallSettingsOf({ find: find as never }),
    tokens: noTokens,
  })
  const answer = { functions: [{ name: 'work', args: {} }] }
  const message: WebhookMessage = { extId: 'c', user: {}, thread: { extId: 't' }, answer }
  const content = { kind: 'function', name: 'work', position: 0 } as const
  const attempt = await functions.open({ channel, messageId: 'm', message, id: 'm:0', content })
  const outcome = await attempt.deliver(() => true)
  const code = outcome.kind === 'accepted' ? 'accepted' : outcome.code
  return { code, isRepeatable: attempt.isRepeatable }
}

/** As a call of a model. */
async function asTool(given: Given) {
  const { fields, value } = actionFor(given)
  const configs = new Map(value === undefined ? [] : [['settings', value]])
  const toolbox = await tools.open(agentOf([actionOf({ _id: 7, ...fields, configs })]))
  return callTool(toolbox, 'work', {})
}

const given: Given[] = METHODS.flatMap((method) =>
  Object.keys(KEYS).flatMap((keys) =>
    [false, true].map((module): Given => {
      return { method, keys: keys as keyof typeof KEYS, settings: 'none', module, response: 'nothing' }
    }),
  ),
)

/** The rule, said once more: by its method where the spec's own server is called, by a declared key, or by a config. */
function mayRepeat({ method, keys, settings, module }: Given): boolean {
  const isSafe = !module && !['post', 'patch'].includes(method)
  const isDeclared = ['by the operation', 'by the path, in capitals', 'by a reference'].includes(keys)
  return isSafe || isDeclared || settings === 'idempotent: true'
}

describe('a call of a function whose answer is lost', () => {
  test.each(given)('by $method, key declared: $keys, of a module: $module', async (one) => {
    const expected = mayRepeat(one)
    expect(await asFunction(one)).toEqual({
      code: expected ? 'no_answer' : 'effect_unknown',
      isRepeatable: expected,
    })
    expect((await asTool(one)).kind).toBe(expected ? 'unreached' : 'uncertain')
  })

  test.each(Object.keys(CONFIGS) as Given['settings'][])('by post, config: %s', async (settings) => {
    const one: Given = { method: 'post', keys: 'none', settings, module: false, response: 'nothing' }
    const expected = mayRepeat(one)
    expect((await asFunction(one)).isRepeatable).toBe(expected)
    expect((await asTool(one)).kind).toBe(expected ? 'unreached' : 'uncertain')
  })
})

describe('a call of a function that fails', () => {
  test.each(FAILURES)('with %s', async (response, expected) => {
    const put: Given = { method: 'put', keys: 'none', settings: 'none', module: false, response }
    const post = { ...put, method: 'post' }
    expect([(await asFunction(put)).code, (await asFunction(post)).code]).toEqual([
      expected.repeatable,
      expected.other,
    ])
    expect([(await asTool(put)).kind, (await asTool(post)).kind]).toEqual([expected.tool, expected.otherTool])
  })

  test.each<[string, Partial<Given>, object]>([
    ['under its key only', {}, { kind: 'unreached', mayHaveRun: true }],
    ['by its method', { method: 'put' }, { kind: 'unreached', mayHaveRun: false }],
    ['by a config', { settings: 'idempotent: true' }, { kind: 'unreached', mayHaveRun: false }],
    ['under its key only', { response: 503 }, { kind: 'unreached', mayHaveRun: true }],
    ['under its key only', { response: 409 }, { kind: 'answered', result: { status: 409 } }],
    ['by its method', { method: 'put', response: 503 }, { kind: 'answered', result: { status: 503 } }],
  ])('and may be made again %s: %o', async (_, changes, expected) => {
    const keyed = { method: 'post', keys: 'by the operation', settings: 'none', module: false } as const
    expect(await asTool({ ...keyed, response: 'nothing', ...changes })).toMatchObject(expected)
  })

  test('and may have been done tells the model so, with what was answered', async () => {
    const one: Given = { method: 'post', keys: 'none', settings: 'none', module: false, response: 502 }
    const reported = await asTool(one)
    expect(reported).toMatchObject({
      result: {
        state: 'failed',
        status: 502,
        uncertain: true,
        text: 'This may have been done, and must not be repeated: look up whether it was done. HTTP 502 without a body.',
      },
    })
  })
})

test.each(['GET', 'head', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'post', 'PATCH', 'QUERY', ''])(
  'the method %j is idempotent as RFC 9110 says',
  (method) => {
    expect(isIdempotent(method)).toBe(!['post', 'PATCH', 'QUERY', ''].includes(method))
  },
)

test('what was refused for good, or was accepted, is that, whether it may be repeated or not', () => {
  const outcomes: Outcome[] = [
    { kind: 'accepted', delivered: true },
    { kind: 'permanent', code: 'http_400', fault: 'channel', reason: 'The endpoint answered 400.' },
  ]
  for (const outcome of outcomes)
    for (const isRepeatable of [true, false]) expect(effectOf(outcome, { isRepeatable })).toBe(outcome)
})
