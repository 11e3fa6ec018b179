import { describe, expect, test } from '@jest/globals'
import { gatewayUnderTest } from './gateway-system.ts'

const gateway = gatewayUnderTest({ backend: 'configuration' })

const head = () => `Host: x\r\nAuthorization: Bearer ${gateway.token}\r\n`

/** Sends bytes, expects one problem with this status and code, and nothing to reach the service. */
async function expectProblem(text: string, status: number, code: string) {
  const response = await gateway.system.raw(text)
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(response).toMatch(/content-type: application\/problem\+json/i)
  expect(response).toMatch(/x-request-id: [\w-]{36}/i)
  expect(response).toContain(`"code":"${code}"`)
  expect(response.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  expect(gateway.backend.requests).toEqual([])
}

describe('bytes that are not HTTP get a problem', () => {
  test.each([
    ['nonsense', 'SSH-2.0-OpenSSH\r\n\r\n'],
    ['another version', 'GET /rest/jobs HTTP/3.0\r\nHost: x\r\n\r\n'],
    ['a method nobody knows', 'SUMMON /rest/jobs HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a space in the target', 'GET /rest/jobs extra HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a control character in the target', 'GET /rest/jobs\u0001 HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a control character in a header', 'GET /rest/jobs HTTP/1.1\r\nHost: x\r\nX-A: \u0000\r\n\r\n'],
    ['a bare line feed in a header', 'GET /rest/jobs HTTP/1.1\r\nHost: x\r\nX-A: 1\nX-B: 2\r\n\r\n'],
    ['bare line feeds throughout', 'GET /rest/jobs HTTP/1.1\nHost: x\n\n'],
    ['a header folded over two lines', 'GET /rest/jobs HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n 2\r\n\r\n'],
    ['a folded length', 'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 1\r\n\r\nx'],
    ['a colon without a name', 'GET /rest/jobs HTTP/1.1\r\nHost: x\r\n: 1\r\n\r\n'],
    [
      'both ways to frame a body',
      'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunked before another coding',
      'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
    ],
    [
      'another coding before chunked',
      'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'chunked twice',
      'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    [
      'a second Authorization',
      'GET /rest/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n',
    ],
    ['a negative length', 'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n'],
    ['a length that is no number', 'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 0x10\r\n\r\n'],
    ['two lengths in one', 'POST /rest/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\nx'],
  ])('%s', async (_what, text) => {
    await expectProblem(text, 400, 'malformed_request')
  })

  test('endless header fields', async () => {
    await expectProblem(
      `GET /rest/jobs HTTP/1.1\r\n${head()}X-A: ${'a'.repeat(65_536)}\r\n\r\n`,
      431,
      'headers_too_large',
    )
  })

  test('no Host header, or two', async () => {
    const response = await gateway.system.raw('GET /rest/jobs HTTP/1.1\r\nConnection: close\r\n\r\n')
    expect(response).toMatch(/^HTTP\/1\.1 400 /)
    expect(gateway.backend.requests).toEqual([])
  })
})

describe('the gateway itself refuses', () => {
  test.each([
    ['TRACE', '/rest/jobs', 405, 'method_not_allowed'],
    ['OPTIONS', '*', 400, 'invalid_path'],
    ['GET', 'http://169.254.169.254/latest', 400, 'invalid_path'],
    ['GET', 'https://x/rest/jobs', 400, 'invalid_path'],
    ['GET', '/rest/jobs/%00', 400, 'invalid_path'],
    ['GET', '/internal/introspect', 404, 'not_found'],
    ['GET', '/rest/../internal/changes', 400, 'invalid_path'],
  ])('%s %s', async (method, target, status, code) => {
    await expectProblem(`${method} ${target} HTTP/1.1\r\n${head()}Connection: close\r\n\r\n`, status, code)
  })

  test('CONNECT', async () => {
    expect(await gateway.system.raw(`CONNECT 127.0.0.1:22 HTTP/1.1\r\n${head()}\r\n`)).not.toMatch(/ 200 /)
  })

  test('nothing because of an unknown Expect header', async () => {
    const head = `Host: x\r\nAuthorization: Bearer ${gateway.token}\r\nExpect: 200-maybe\r\nConnection: close\r\n`
    expect(await gateway.system.raw(`GET /rest/jobs HTTP/1.1\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
    expect(gateway.backend.requests[0]?.headers).not.toHaveProperty('expect')
  })

  test('no upgrade: it is an ordinary request', async () => {
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n'
    expect(await gateway.system.raw(`GET /rest/jobs HTTP/1.1\r\n${head()}${upgrade}\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    )
    expect(gateway.backend.requests[0]?.headers).not.toHaveProperty('upgrade')
  })
})

test('pipelined requests get their responses one by one and in order', async () => {
  const get = (path: string, last = '') => `GET ${path} HTTP/1.1\r\n${head()}${last}\r\n`
  const response = await gateway.system.raw(
    get('/rest/jobs/1') + get('/rest/none') + get('/rest/jobs/2', 'Connection: close\r\n'),
  )
  expect(response.match(/HTTP\/1\.1 (\d+)/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 404', 'HTTP/1.1 200'])
  expect(response.indexOf('/rest/jobs/1')).toBeLessThan(response.indexOf('/rest/jobs/2'))
})

test('a chunked body arrives without its chunk extensions and trailers', async () => {
  const chunks = '2;ext=1\r\n{}\r\n0\r\nX-Trailer: 1\r\nAuthorization: Bearer evil\r\n\r\n'
  await gateway.system.raw(
    `POST /rest/jobs HTTP/1.1\r\n${head()}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`,
  )
  expect(gateway.backend.requests[0]?.body).toBe('{}')
  expect(gateway.backend.requests[0]?.headers).not.toHaveProperty('x-trailer')
})

test('many cookies, long queries and unusual legal headers reach the service', async () => {
  const odd = `X-${'a'.repeat(200)}: ${'b'.repeat(2_000)}\r\nCookie: ${'c=1; '.repeat(500)}\r\nX-Empty:\r\n`
  const target = `/rest/jobs?q=${'x'.repeat(4_000)}`
  const response = await gateway.system.raw(
    `GET ${target} HTTP/1.1\r\n${head()}${odd}Connection: close\r\n\r\n`,
  )
  expect(response).toMatch(/^HTTP\/1\.1 200 /)
  expect(gateway.backend.requests[0]?.url).toBe(target)
})

test('the gateway still serves requests after all of these', async () => {
  const { status } = await gateway.system.call('GET', '/rest/jobs', { token: gateway.token })
  expect(status).toBe(200)
  expect(gateway.backend.requests).toHaveLength(1)
})
