import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { FuzzCase, Header } from '../fuzz-case.ts'
import { fuzzedOperations, operationsWithBody } from '../operations.ts'
import { jsonText } from '../values/json-text.ts'
import { naughtyString } from '../values/naughty-values.ts'
import { caller, headersOf, pathOf, validBody } from './requests.ts'

const TOKEN = 'Bearer {{token:WORKSPACE_ADMIN}}'
const BOMB_BYTES = 24 * 1024 * 1024

/** Header fields beside those of an ordinary request. */
const FURTHER: readonly Header[][] = [
  ...[
    'x-forwarded-for',
    'X-Forwarded-For',
    'x_forwarded_for',
    'forwarded',
    'x-real-ip',
    'true-client-ip',
    'client-ip',
  ].map((name): Header[] => [[name, '127.0.0.1, for=127.0.0.1;host=inner']]),
  ...[
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-prefix',
    'x-original-url',
    'x-rewrite-url',
    'x-host',
  ].map((name): Header[] => [[name, '/internal/introspect']]),
  ...['x-http-method-override', 'x-http-method', 'x-method-override', '_method'].map((name): Header[] => [
    [name, 'DELETE'],
  ]),
  ...[
    'x-internal-token',
    'x-internal-caller',
    'x_internal_caller',
    'proxy-authorization',
    'authorization_',
  ].map((name): Header[] => [[name, TOKEN]]),
  ...[
    'authorization',
    'host, authorization',
    'x-request-id',
    'content-length',
    'keep-alive, upgrade',
    '',
  ].map((value): Header[] => [['connection', value]]),
  [
    ['upgrade', 'h2c'],
    ['http2-settings', 'AAMAAABkAAQAAP__'],
  ],
  [
    ['connection', 'upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-key', 'x'],
  ],
  ...['trailers', 'gzip;q=1', 'x'].map((value): Header[] => [
    ['te', value],
    ['trailer', 'authorization'],
  ]),
  ...['100-continue', '200-maybe', 'x'.repeat(300)].map((value): Header[] => [['expect', value]]),
  ...['*/*;q=x', 'text/html', 'application/xml', '', ','].map((value): Header[] => [['accept', value]]),
  ...['gzip, br;q=x', 'identity;q=0', '*'].map((value): Header[] => [
    ['accept-encoding', value],
    ['accept-charset', 'utf-7'],
  ]),
  ...['bytes=0-0', 'bytes=-1', 'bytes=9-1,0-', 'x'].map((value): Header[] => [
    ['range', value],
    ['if-range', '"x"'],
  ]),
  ...['*', '""', '"x"', 'W/"1"', '"1", "2"', ',', '"'.repeat(50), '"\u00ff"', 'x'.repeat(4_000)].flatMap(
    (value): Header[][] => [
      [['if-match', value]],
      [['if-none-match', value]],
      [
        ['if-match', '*'],
        ['if-none-match', value],
      ],
    ],
  ),
  ...['x', 'Thu, 01 Jan 1970 00:00:00 GMT', '1'].map((value): Header[] => [['if-modified-since', value]]),
  ...['handling=strict', 'handling=x', 'return=minimal; a="', ',,;', 'handling=strict, handling=lenient'].map(
    (value): Header[] => [['prefer', value]],
  ),
  ...['', ' ', 'x', 'é', '"', 'a b', 'k'.repeat(256), 'k'.repeat(255), '__proto__', '$ne'].map(
    (value): Header[] => [['idempotency-key', value]],
  ),
  [
    ['idempotency-key', 'a'],
    ['idempotency-key', 'b'],
  ],
  ...['x', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`, `00-${'f'.repeat(32)}-${'f'.repeat(16)}-ff`].map(
    (value): Header[] => [
      ['traceparent', value],
      ['tracestate', 'x=\u00e9'],
      ['baggage', '__proto__=1'],
    ],
  ),
  ...['evil.example', '*', 'null', 'file://'].map((value): Header[] => [
    ['origin', value],
    ['referer', value],
    ['access-control-request-method', 'PUT'],
  ]),
  ...['127.0.0.1:9', 'parley.test@x', 'a b', '[::1]', '', 'x'.repeat(3_000)].map((value): Header[] => [
    ['x-forwarded-host', value],
    ['x-host', value],
  ]),
  [['host', 'second.test']],
  [
    ['authorization', 'Bearer x'],
    ['authorization', TOKEN],
  ],
  [['x-request-id', 'second']],
  [['cookie', 'a=1; '.repeat(1_000)]],
  [['x-long', 'x'.repeat(20_000)]],
  [['x-é', '1']],
  [['x a', '1']],
  [['', '1']],
  [['x-nul', 'a\u0000b']],
  [['x-lines', 'a\r\nx-injected: 1']],
  [['x-bare', 'a\nx-injected: 1']],
  [['x-folded', 'a\r\n b']],
  [
    ['__proto__', '1'],
    ['constructor', '1'],
    ['toString', 'x'],
  ],
  Array.from({ length: 900 }, (_, n): Header => [`x-${n}`, '1']),
]

interface Content {
  type?: string
  encoding?: string
  body?: string
  more?: readonly Header[]
}
const latin = (bytes: Buffer) => bytes.toString('latin1')
/** Bodies whose headers say something else than what they are. */
const CONTENTS: readonly Content[] = [
  ...[
    '',
    'x',
    '/',
    'text/plain',
    'text/html',
    'application/xml',
    'application/x-www-form-urlencoded',
    'application/octet-stream',
  ],
  ...[
    'multipart/form-data; boundary=x',
    'multipart/form-data',
    'application/JSON',
    'application/json;',
    'application/json; charset=',
  ],
  ...[
    'application/json; charset=utf-16',
    'application/json; charset=utf-7',
    'application/json; charset="UTF-8"',
    'application/json;charset=x',
  ],
  ...[
    'application/json, text/plain',
    'application/problem+json',
    'application/merge-patch+json',
    'application/json-patch+json',
  ],
  ...[
    'application/json; charset=utf-8; charset=latin1',
    'application/json; x="',
    'é',
    'application/*',
    '*/*',
    `a/${'b'.repeat(4_000)}`,
  ],
].map((each): Content => (typeof each === 'string' ? { type: each } : each))
const ENCODINGS: readonly Content[] = [
  ...['gzip', 'deflate', 'br', 'zstd', 'identity', 'GZIP', 'gzip, gzip', 'x', '', 'compress', 'chunked'].map(
    (encoding) => ({ encoding }),
  ),
  { encoding: 'gzip', body: latin(gzipSync('{}')) },
  { encoding: 'gzip', body: latin(gzipSync('{}')).slice(0, -4) },
  { encoding: 'gzip', body: latin(gzipSync('['.repeat(1_000_000))) },
  { encoding: 'gzip', body: latin(gzipSync(Buffer.alloc(BOMB_BYTES, 0x20))) },
]
const FRAMINGS: readonly { more: readonly Header[]; wanted?: readonly number[]; body?: string }[] = [
  {
    more: [
      ['content-length', '{{length}}'],
      ['content-length', '0'],
    ],
    wanted: [400],
  },
  {
    more: [
      ['content-length', '{{length}}'],
      ['transfer-encoding', 'chunked'],
    ],
    wanted: [400],
  },
  {
    more: [
      ['transfer-encoding', 'chunked'],
      ['content-length', '4'],
    ],
    wanted: [400],
  },
  ...['-1', '+1', '1e1', '0x1', '1,1', '1 1', 'x', '', '99999999999999999999'].map((value) => ({
    more: [['content-length', value]] as const,
  })),
  ...['xchunked', 'chunked, gzip', 'chunked, chunked', 'identity', '\u000bchunked', 'chunked;x'].map(
    (value) => ({
      more: [['transfer-encoding', value]] as const,
      body: '0\r\n\r\n',
    }),
  ),
  { more: [['transfer-encoding', 'chunked']], body: '2\r\n{}\r\n0\r\n\r\n' },
  { more: [['Transfer-Encoding', 'Chunked']], body: '2;x=1\r\n{}\r\n0\r\nauthorization: x\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: `1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n` },
  { more: [['transfer-encoding', 'chunked']], body: 'x\r\n{}\r\n0\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: '-2\r\n{}\r\n0\r\n\r\n' },
  { more: [['transfer-encoding', 'chunked']], body: 'ffffffffffffffff1\r\n{}\r\n0\r\n\r\n' },
  {
    more: [
      ['transfer_encoding', 'chunked'],
      ['content_length', '1'],
      ['content-length', '{{length}}'],
    ],
  },
]
const METHODS = [
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'PURGE',
  'LINK',
  'LOCK',
  'QUERY',
  'MOVE',
  'SUMMON',
  'get',
  'CONNECT',
  'PRI',
]

const base = (operations: typeof fuzzedOperations) =>
  fc.tuple(fc.constantFrom(...operations), caller).chain(([operation, caller]) => {
    const body = validBody(operation)?.map(jsonText) ?? fc.constant(undefined)
    return fc.tuple(pathOf(operation), body).map(
      ([target, body]): FuzzCase => ({
        ...{ kind: 'header', caller, method: operation.method, target },
        headers: headersOf({ operation, caller, hasBody: body !== undefined }),
        ...(body === undefined ? {} : { body }),
      }),
    )
  })

const without = ({ headers }: FuzzCase, ...names: string[]) =>
  headers.filter(([name]) => !names.includes(name))

const further = fc
  .tuple(
    base(fuzzedOperations),
    fc.oneof(
      { arbitrary: fc.constantFrom(...FURTHER), weight: 8 },
      { arbitrary: naughtyString.map((text): Header[] => [['x-fuzz', text.toWellFormed()]]), weight: 1 },
    ),
  )
  .map(([one, more]): FuzzCase => ({ ...one, headers: [...one.headers, ...more] }))
const contents = fc.tuple(base(operationsWithBody), fc.constantFrom(...CONTENTS, ...ENCODINGS)).map(
  ([one, { type = 'application/json', encoding, body }]): FuzzCase => ({
    ...one,
    headers: [
      ...without(one, 'content-type'),
      ['content-type', type],
      ...(encoding === undefined ? [] : [['content-encoding', encoding] as const]),
    ],
    ...(body === undefined ? {} : { body, encoding: 'latin1' }),
  }),
)
const framings = fc.tuple(base(operationsWithBody), fc.constantFrom(...FRAMINGS)).map(
  ([one, { more, body, wanted }]): FuzzCase => ({
    ...one,
    headers: [...without(one, 'content-length', 'x-request-id'), ...more],
    ...(body === undefined ? {} : { body }),
    ...(wanted === undefined ? {} : { wanted }),
  }),
)
const methods = fc
  .tuple(base(fuzzedOperations), fc.constantFrom(...METHODS))
  .map(([one, method]): FuzzCase => ({ ...one, method }))

/** Header fields that say what is not so, bodies framed twice, methods nobody knows. */
export const headerCases: fc.Arbitrary<FuzzCase> = fc.oneof(
  { arbitrary: further, weight: 5 },
  { arbitrary: contents, weight: 3 },
  { arbitrary: framings, weight: 2 },
  { arbitrary: methods, weight: 1 },
)
