import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { jsonBody, MAX_DEPTH } from '@parley/shared/json-body'
import { createLog } from '@parley/shared/log'
import { createApp } from '@parley/shared/service-app'
import { untraced } from '@parley/shared/tracing'
import type { Express } from 'express'
import fc from 'fast-check'
import { Registry } from 'prom-client'

const MAX_BYTES = 10_000
let server: Awaited<ReturnType<typeof listening>>

beforeAll(async () => {
  const app = createApp({
    log: createLog({ service: 'test', level: 'silent' }),
    registry: new Registry(),
    tracing: untraced,
    readiness: { required: {} },
    routes: (routes) => {
      routes.post('/echo', jsonBody({ maxBytes: MAX_BYTES }), (req, res) => {
        res.type('application/json').end(JSON.stringify(req.body ?? null))
      })
    },
  })
  server = await listening(app)
})
afterAll(() => server.close())

test('an integer that would be changed is refused, with its place; a fraction is the double that it is nearest to', async () => {
  const refused = await post('{"a": [1, 1917043659912705296], "b": {"c~": -9007199254740993}}')
  expect([refused.status, refused.problem?.errors]).toEqual([
    422,
    ['/a/1', '/b/c~0'].map((path) => ({
      path,
      code: 'number_inexact',
      message: 'is an integer that would be changed: send it as a text',
    })),
  ])
  const taken = '{"a":9007199254740992,"b":"1917043659912705296","c":-9007199254740991,"d":0.1}'
  expect((await post(taken)).text).toBe(taken)
  expect((await post('{"d":0.10000000000000001}')).text).toBe('{"d":0.1}')
})

async function post(body: string | Buffer, headers: Record<string, string> = {}) {
  const response = await fetch(`${server.url}/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
  const text = await response.text()
  const problem = response.ok
    ? undefined
    : (JSON.parse(text) as { code: string; status: number; errors?: object[] })
  return { status: response.status, type: response.headers.get('content-type'), text, problem }
}

describe('a JSON body', () => {
  test('comes through with every key in its place', async () => {
    const text = '{"z":1,"a":{"$where":1,"b.c":[],"__proto__":{"x":1},"":{}},"constructor":null}'
    expect((await post(text)).text).toBe(text)
  })

  test('that is no JSON is refused with its line and column, and not repeated', async () => {
    const { status, problem } = await post('{\n  "secret": 1,\n}')
    expect([status, problem]).toMatchObject([
      400,
      {
        code: 'malformed_json',
        line: 3,
        column: 1,
        detail: 'Line 3, column 1: expected a key in double quotes.',
      },
    ])
    expect(JSON.stringify(problem)).not.toContain('secret')
  })

  test('comes through with its keys, whichever stood in their place before', async () => {
    for (const key of ['\\', '\n', '"', 'a\\', 'a\t']) {
      const text = JSON.stringify({ first: 1, [key]: 2 })
      expect((await post(text)).text).toBe(text)
    }
  })

  test('of any JSON comes through unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 8 }), async (value) => {
        const text = JSON.stringify(value)
        fc.pre(text.length < MAX_BYTES)
        const returned = await post(text)
        expect(returned.text).toBe(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 100 },
    )
  })

  test('may be missing', async () => {
    const response = await fetch(`${server.url}/echo`, { method: 'POST' })
    expect([response.status, await response.text()]).toEqual([200, 'null'])
  })

  test.each([
    ['cut off', '{"name": ', 400, 'malformed_json'],
    ['a bare word', 'hello', 400, 'malformed_json'],
    ['nested one level too deep', '['.repeat(MAX_DEPTH + 1) + ']'.repeat(MAX_DEPTH + 1), 422, 'too_deep'],
    ['a bomb of brackets', '['.repeat(9_000), 422, 'too_deep'],
    ['too large', JSON.stringify('x'.repeat(MAX_BYTES)), 413, 'body_too_large'],
    ['with NUL in a key', '{"a":{"b\\u0000c":1}}', 422, 'validation_failed'],
    ['with a lone surrogate', '{"a":["\\ud800"]}', 422, 'validation_failed'],
    ['with a lone surrogate in a key', '{"\\udc00":1}', 422, 'validation_failed'],
  ])('%s is refused', async (_name, body, status, code) => {
    const { problem, type } = await post(body)
    expect([problem?.status, problem?.code, type]).toEqual([
      status,
      code,
      'application/problem+json; charset=utf-8',
    ])
  })

  test('nested as deep as allowed is taken, and brackets in strings do not count', async () => {
    const deep = '['.repeat(MAX_DEPTH) + ']'.repeat(MAX_DEPTH)
    expect((await post(deep)).text).toBe(deep)
    expect((await post(JSON.stringify('\\"[[{{'.repeat(40)))).status).toBe(200)
  })

  test('names the place of what it refuses', async () => {
    const { problem } = await post('{"a/b":{"c~d":["ok","\\ud800"]}}')
    expect(problem?.errors).toEqual([
      { path: '/a~1b/c~0d/1', code: 'lone_surrogate', message: 'has a lone surrogate' },
    ])
  })

  test('that is not UTF-8 is refused', async () => {
    expect((await post(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).problem?.code).toBe('malformed_json')
    const wide = Buffer.from('{"a":1}', 'utf16le')
    expect((await post(wide, { 'content-type': 'application/json; charset=utf-16' })).problem?.status).toBe(
      415,
    )
  })

  test('of another type is refused', async () => {
    expect((await post('a=1', { 'content-type': 'application/x-www-form-urlencoded' })).problem?.status).toBe(
      415,
    )
  })

  test('is counted after decompression', async () => {
    const bomb = gzipSync(Buffer.from(JSON.stringify('x'.repeat(5_000_000))))
    expect(bomb.length).toBeLessThan(MAX_BYTES)
    expect((await post(bomb, { 'content-encoding': 'gzip' })).problem?.code).toBe('body_too_large')
    expect((await post(gzipSync('{"a":1}'), { 'content-encoding': 'gzip' })).text).toBe('{"a":1}')
  })
})

describe('every answer', () => {
  test('carries a request id, taken over when it is sane', async () => {
    const sane = await fetch(`${server.url}/nothing`, { headers: { 'x-request-id': 'abc-1' } })
    expect(sane.headers.get('x-request-id')).toBe('abc-1')
    expect(await sane.json()).toMatchObject({ code: 'not_found', requestId: 'abc-1', instance: '/nothing' })
    const odd = await fetch(`${server.url}/nothing?token=secret`, { headers: { 'x-request-id': 'a b' } })
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(await odd.text()).not.toContain('secret')
  })
})

/** Serves an app on a free port for the length of a test. */
async function listening(app: Express): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
