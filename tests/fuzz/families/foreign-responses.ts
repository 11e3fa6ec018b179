import fc from 'fast-check'

/** The answer of a server that a workspace named, to any request. */
export interface ForeignResponse {
  contentType: string
  /** Said over and over, up to `bytes`, after `first`. */
  first: string
  unit: string
  bytes: number
}

const MB = 1024 * 1024
const event = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const chat = (delta: object) => event({ choices: [{ index: 0, delta }] })
const call = (more: object) => chat({ tool_calls: [more] })
const rpc = (more: object) => event({ jsonrpc: '2.0', ...more })

const lineEnds = fc
  .tuple(fc.constantFrom('\n', '\r', '\r\n', ' \n', ':\n'), fc.integer({ min: 1, max: 70_000 }))
  .map(([end, count]) => `${end.repeat(count)}\r`)

const streamed = fc.record({
  contentType: fc.constantFrom(
    'text/event-stream',
    'text/event-stream; charset=utf-8',
    'application/json',
    '',
  ),
  first: fc.constantFrom(
    '',
    '\ufeff',
    '{',
    call({ index: 0, id: 'a', function: { name: 'a', arguments: '{"a":"' } }),
  ),
  unit: fc.oneof(
    lineEnds,
    fc.constantFrom(
      ...[
        'data:\n',
        'data: 1\n',
        'data: {}\n\n',
        'data: [',
        'data: x',
        'id: 1\n\n',
        'event: a\n',
        'retry: 0\n',
      ],
      ...[chat({ content: 'a' }), chat({ content: '<think>' }), chat({ reasoning_content: 'a' }), chat({})],
      call({ index: 0, function: { name: 'a', arguments: '{}' } }),
      call({ function: { name: 'a', arguments: '{' } }),
      call({ index: 0, function: { arguments: 'aaaa' } }),
      event({ choices: Array(3_000).fill({ delta: { content: 'a' } }) }),
      rpc({ method: 'notifications/message', params: { level: 'info', data: 'x' } }),
      rpc({ id: 0, result: {} }),
      rpc({ id: 1, method: 'ping' }),
    ),
  ),
  bytes: fc.integer({ min: 1, max: 6 * MB }),
})

const whole = fc.record({
  contentType: fc.constantFrom('application/json', 'text/html', 'text/event-stream'),
  first: fc.constantFrom(
    '',
    '{"choices":[{"message":{"tool_calls":[',
    '{"choices":[{"message":{"content":"',
    '{"choices":[',
    '{"jsonrpc":"2.0","id":0,"result":{"tools":[',
    '[',
  ),
  unit: fc.constantFrom(
    '{},',
    '[',
    '{"a":',
    '"a":1,',
    '0,',
    'a',
    '\\u0061',
    '{"function":{"name":"a","arguments":"{}"}},',
  ),
  bytes: fc.integer({ min: 1, max: 6 * MB }),
})

/** Of models and MCP servers that misbehave, streamed and whole. */
export const foreignResponses: fc.Arbitrary<ForeignResponse> = fc.oneof(streamed, whole)
