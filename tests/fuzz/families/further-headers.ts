import type { Header } from '../fuzz-case.ts'

const TOKEN = 'Bearer {{token:WORKSPACE_ADMIN}}'

/** Header fields beside those of an ordinary request. */
export const FURTHER: readonly Header[][] = [
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
