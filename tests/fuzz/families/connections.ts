import fc from 'fast-check'
import type { FuzzCase, FuzzDelivery } from '../fuzz-case.ts'
import { bodyCases, operationCases } from './operations.ts'

const HEAD = 'Host: parley.test\r\nAuthorization: Bearer {{token:WORKSPACE_ADMIN}}\r\n'
const GET = `GET /rest/jobs HTTP/1.1\r\n${HEAD}\r\n`
const LAST = `GET /rest/jobs/1 HTTP/1.1\r\n${HEAD}Connection: close\r\n\r\n`

/** Bytes that are no request, or more than one. */
const MESSAGES: readonly string[] = [
  ...[
    'x\r\n\r\n',
    'SSH-2.0-OpenSSH\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\r\n\r\n',
    'HELO x\r\n\r\n',
  ],
  ...[
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'GET\r\n\r\n',
    'GET /\r\n\r\n',
    'GET / HTTP/1.1 x\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'GET / http/1.1\r\n\r\n',
  ],
  ...[
    'GET  / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ' GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    '\r\nGET /rest/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  ],
  ...[
    'GET /rest/jobs HTTP/1.0\r\n\r\n',
    'GET /rest/jobs HTTP/1.1\r\nConnection: close\r\n\r\n',
    'GET /rest/jobs HTTP/1.1\nHost: x\n\n',
  ],
  ...[
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    `GET ${'/a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /rest/jobs HTTP/1.1\r\n${'a: b\r\n'.repeat(4_000)}\r\n`,
  ],
  ...[`${GET}${LAST}`, `${GET.repeat(20)}${LAST}`, `${GET}x\r\n\r\n`, `${GET}\r\n\r\n${LAST}`],
  `POST /rest/jobs HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}${LAST}`,
  `POST /rest/jobs HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 5\r\n\r\n{}${LAST}`,
  `POST /rest/jobs HTTP/1.1\r\n${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${LAST}`,
  `GET /rest/jobs HTTP/1.1\r\n${HEAD}Content-Length: ${LAST.length}\r\nConnection: close\r\n\r\n${LAST}`,
  `DELETE /rest/jobs/77 HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${LAST}`,
  `GET /health/live HTTP/1.1\r\n${HEAD}Content-Length: 3\r\n\r\nabc${LAST}`,
]

const messages = fc.constantFrom(...MESSAGES).map(
  (raw): FuzzCase => ({
    kind: 'connection',
    caller: 'WORKSPACE_ADMIN',
    method: 'GET',
    target: '/',
    headers: [],
    raw,
  }),
)

const delivery: fc.Arbitrary<FuzzDelivery> = fc.oneof(
  fc.integer({ min: 2, max: 30 }).map((pieces) => ({ pieces })),
  fc.constantFrom(0.1, 0.5, 0.9, 0.99, 0.999).map((cutAfter) => ({ cutAfter })),
  fc
    .tuple(fc.integer({ min: 2, max: 10 }), fc.constantFrom(0.5, 0.9))
    .map(([pieces, cutAfter]) => ({ pieces, cutAfter })),
  fc.constant({ cutResponse: true as const }),
  fc.constant({ halfClosed: true as const }),
)
const deliveries = fc
  .tuple(fc.oneof(operationCases, bodyCases), delivery)
  .map(([one, delivery]): FuzzCase => ({ ...one, kind: 'connection', delivery }))

/** Requests that come slowly or not to their end, several at once, and what is none. */
export const connectionCases: fc.Arbitrary<FuzzCase> = fc.oneof(
  { arbitrary: deliveries, weight: 4 },
  { arbitrary: messages, weight: 1 },
)
