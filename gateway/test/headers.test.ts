import { describe, expect, test } from '@jest/globals'
import { gatewayUnderTest } from './gateway-system.ts'

const gateway = gatewayUnderTest({ backend: 'configuration' })

/** Sends a request with exactly these header lines and returns the headers that the service got. */
async function seenWith(lines: string[], body = '') {
  const head = [
    'PUT /rest/channels/1 HTTP/1.1',
    'Host: api.example.com',
    `Authorization: Bearer ${gateway.token}`,
  ]
  const response = await gateway.system.raw(`${[...head, ...lines].join('\r\n')}\r\n\r\n${body}`)
  expect(response).toMatch(/^(HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 200 /)
  return gateway.backend.requests[0]!
}

describe('a request to a service', () => {
  test('has the address that the gateway saw in place of what the caller claims', async () => {
    const { headers } = await seenWith([
      'Connection: close',
      'X-Forwarded-For: 6.6.6.6',
      'X-Forwarded-Host: evil.example',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Prefix: /evil',
      'Forwarded: for=6.6.6.6',
      'X-Real-IP: 6.6.6.6',
      'X-Internal-Caller: admin',
      'x_forwarded_for: 6.6.6.6',
      'X_Internal_Caller: admin',
      'Content-Length: 0',
    ])
    expect(JSON.stringify(headers)).not.toMatch(/6\.6\.6\.6|evil|admin/)
    expect(headers).toMatchObject({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'api.example.com',
      host: new URL(gateway.backend.url).host,
    })
    expect(gateway.backend.verifier.verify(headers.authorization).issuer).toBe('gateway')
  })

  test('has no hop-by-hop headers, and none that Connection names', async () => {
    const { headers } = await seenWith(
      [
        'Connection: close, X-Secret-Hop, Authorization, X-Request-Id, Content-Length',
        'X-Secret-Hop: 1',
        'Keep-Alive: timeout=5',
        'TE: trailers',
        'Trailer: x',
        'Proxy-Authorization: Basic x',
        'Proxy-Connection: close',
        'Upgrade: websocket',
        'Content-Length: 2',
        'Content-Type: application/json',
      ],
      '{}',
    )
    for (const name of [
      'x-secret-hop',
      'te',
      'trailer',
      'proxy-authorization',
      'proxy-connection',
      'upgrade',
    ])
      expect(headers).not.toHaveProperty(name)
    expect(headers['content-length']).toBe('2')
    expect(headers['x-request-id']).toMatch(/^[\w-]{36}$/)
    expect(headers.authorization).toMatch(/^Bearer /)
  })

  test('has the request id of its caller when that is well formed, else a new one', async () => {
    const own = await gateway.system.call('GET', '/rest/jobs', {
      token: gateway.token,
      headers: { 'x-request-id': 'trace-1' },
    })
    expect(own.headers.get('x-request-id')).toBe('trace-1')
    expect(gateway.backend.requests[0]?.headers['x-request-id']).toBe('trace-1')
    const odd = await gateway.system.call('GET', '/rest/jobs', {
      token: gateway.token,
      headers: { 'x-request-id': 'a b"c' },
    })
    expect(odd.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
  })

  test('has the whole body that its caller sent in chunks', async () => {
    const { body, headers } = await seenWith(
      ['Connection: close', 'Transfer-Encoding: chunked', 'Expect: 100-continue'],
      '3\r\n{"a\r\n4\r\n":1}\r\n0\r\n\r\n',
    )
    expect(body).toBe('{"a":1}')
    expect(headers.expect).toBeUndefined()
  })

  test.each(['GET', 'DELETE'])(
    'that is a %s does not turn its body into a second request',
    async (method) => {
      const smuggled = 'PUT /rest/users/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'
      const size = smuggled.length.toString(16)
      await gateway.system.raw(
        `${method} /rest/jobs/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nConnection: close, content-length, transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n${smuggled}\r\n0\r\n\r\n`,
      )
      await gateway.system.raw(
        `${method} /rest/jobs/2 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nConnection: close, content-length\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
      )
      expect(gateway.backend.requests.map(({ url, body }) => [url, body])).toEqual([
        ['/rest/jobs/1', smuggled],
        ['/rest/jobs/2', smuggled],
      ])
    },
  )

  test.each([
    ['both lengths', ['Content-Length: 4', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5']],
    ['an unknown transfer encoding', ['Transfer-Encoding: xchunked']],
    ['a space before the colon', ['Content-Length : 4']],
    ['a folded line', ['X-A: 1', ' folded']],
  ])('is not made with %s: the caller gets 400', async (_what, lines) => {
    const response = await gateway.system.raw(
      `POST /rest/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nConnection: close\r\n${lines.join('\r\n')}\r\n\r\n0\r\n\r\n`,
    )
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(gateway.backend.requests).toEqual([])
  })
})

describe('a response to a caller', () => {
  test('is that of the service without its hop-by-hop headers', async () => {
    gateway.backend.respond = (_req, res) => {
      res.writeHead(412, {
        'content-type': 'application/problem+json',
        etag: '"7"',
        server: 'secret/1',
        'x-powered-by': 'secret',
        'x-hop': 'secret',
        connection: 'x-hop',
        'keep-alive': 'timeout=1234, secret',
      })
      res.end('{"code":"precondition_failed"}')
    }
    const { status, headers, text } = await gateway.system.call('GET', '/rest/jobs/1', {
      token: gateway.token,
    })
    expect([status, text, headers.get('etag')]).toEqual([412, '{"code":"precondition_failed"}', '"7"'])
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(JSON.stringify([...headers])).not.toContain('secret')
  })

  test('ends the connection when the caller asks for that', async () => {
    const head = `GET /rest/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${gateway.token}\r\nConnection: close\r\n\r\n`
    expect(await gateway.system.raw(head)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i)
    expect(await gateway.system.raw(head.replace('HTTP/1.1', 'HTTP/1.0'))).toMatch(/^HTTP\/1\.1 200 /)
  })
})
