import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type IntakeWorld, START_MS, startIntakeWorld } from './intake-world.ts'
import { metaChannel } from './meta-payload.ts'

const MIB = 1024 * 1024
const BODY_MS = 4_000

let world: IntakeWorld
beforeAll(async () => {
  world = await startIntakeWorld({ BODY_TIMEOUT_MS: String(BODY_MS) })
  await world.putChannel(1, metaChannel('line'))
}, START_MS)
afterAll(() => world.close(), START_MS)

const message = { extId: 'line', user: {}, thread: { extId: 't' }, answer: {} }
const text = JSON.stringify(message)
const withMember = (member: string) => `${text.slice(0, -1)},${member}}`

describe('a body', () => {
  test.each([
    ['a key of 10 MB', withMember(`"${'k'.repeat(10 * MIB)}":1`), 413, 'body_too_large'],
    ['nested a million deep', withMember(`"x":${'['.repeat(400_000)}`), 422, 'too_deep'],
    ['nested 33 deep', withMember(`"x":${'['.repeat(32)}${']'.repeat(32)}`), 422, 'too_deep'],
    ['a lone surrogate in a key', withMember('"\\ud800":1'), 422, 'validation_failed'],
    ['a lone surrogate in a text', withMember('"x":"\\udc00"'), 422, 'validation_failed'],
    ['NUL in a key', withMember('"\\u0000":1'), 422, 'validation_failed'],
    [
      'bytes that are no UTF-8',
      Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
      400,
      'malformed_json',
    ],
    ['a byte order mark', `\ufeff${text}`, 400, 'malformed_json'],
    ['nothing', '', 422, 'validation_failed'],
    ['null', 'null', 422, 'validation_failed'],
    ['a list', `[${text}]`, 422, 'validation_failed'],
    [
      'a template without a text',
      withMember('"answer":{"functions":[{"args":{"template":1,"language":"x"}}]}'),
      422,
      'validation_failed',
    ],
    [
      '51 functions',
      withMember(`"answer":{"functions":[${Array(51).fill('{"name":"x"}').join()}]}`),
      422,
      'validation_failed',
    ],
  ])('of %s is refused, and nothing is published', async (_name, body, status, code) => {
    await world.drain()
    const answer = await world.post(body)
    expect([answer.status, answer.json.code]).toEqual([status, code])
    expect(await world.drain()).toEqual([])
  })

  test('with 50 functions is taken, and a 51st is named as what is too many', async () => {
    const functions = (count: number) =>
      withMember(`"answer":{"functions":[${Array(count).fill('{"name":"x"}').join()}]}`)
    expect((await world.post(functions(50))).status).toBe(200)
    const { errors } = (await world.post(functions(51))).json
    expect(errors).toEqual([expect.objectContaining({ path: '/answer/functions', code: 'too_big' })])
    await world.drain()
  })

  test('with a key twice counts as JSON.parse takes it: the last one', async () => {
    await world.drain()
    const answer = await world.post(withMember('"input":"first","input":"last"'))
    expect([answer.status, answer.json.input]).toEqual([200, 'last'])
    expect((await world.drain()).map(({ delivery }) => delivery.content.toString())).toEqual([answer.text])
  })

  test('with keys that JavaScript has a meaning for is stored and echoed', async () => {
    await world.drain()
    const odd = withMember('"__proto__":{"a":1},"constructor":{"prototype":{}},"$where":"1","a.b":2')
    const answer = await world.post(odd)
    expect([answer.status, answer.text]).toEqual([200, odd])
    expect((await world.drain()).map(({ delivery }) => delivery.content.toString())).toEqual([odd])
  })

  test('that is another type or character set is refused', async () => {
    for (const type of ['text/plain', 'application/json; charset=utf-16', 'application/jsonp'])
      expect((await world.post(text, { headers: { 'content-type': type } })).status).toBe(415)
  })
})

describe('a compressed body', () => {
  const post = (body: Buffer, encoding = 'gzip') =>
    world.post(body, { headers: { 'content-encoding': encoding } })

  test('is taken', async () => {
    expect((await post(gzipSync(text))).status).toBe(200)
  })

  test('that unpacks to a gigabyte is refused after a few MiB', async () => {
    const part = gzipSync(Buffer.alloc(MIB, 'x'))
    const bomb = Buffer.concat(Array.from({ length: 1_024 }, () => part))
    const before = process.memoryUsage().arrayBuffers
    expect((await post(bomb)).json.code).toBe('body_too_large')
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * MIB)
  })

  test('that is broken, or of an unknown kind, is refused', async () => {
    expect((await post(Buffer.from('no gzip'))).json.code).toBe('malformed_body')
    expect((await post(gzipSync(text).subarray(0, 20))).json.code).toBe('malformed_body')
    expect((await post(Buffer.from(text), 'compress')).status).toBe(415)
  })
})

describe('a sender', () => {
  /** Writes raw bytes and returns all that comes back until the connection ends. */
  function converse(
    path: string,
    options: { headers: string[]; write(send: (text: string) => boolean): void },
  ) {
    return new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(world.url).port), '127.0.0.1')
      let received = ''
      socket.setEncoding('latin1')
      socket.on('data', (chunk: string) => {
        received += chunk
      })
      socket.on('error', () => {})
      socket.on('close', () => (received === '' ? reject(new Error('no answer')) : resolve(received)))
      const token = world.as('webhook').authorization
      const head = [
        'host: x',
        `authorization: ${token}`,
        'content-type: application/json',
        ...options.headers,
      ]
      socket.write(`POST ${path} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`)
      options.write((chunk) => !socket.destroyed && socket.writable && socket.write(chunk))
    })
  }
  const paths = () => ['/api/hooks/whatsapp', `/api/hooks/whatsapp/${world.slug}/line`]

  test('that stops in the middle is answered 408 after a while, and let go', async () => {
    for (const path of paths()) {
      const started = performance.now()
      const answer = await converse(path, {
        headers: ['content-length: 100', 'connection: close'],
        write: (send) => send('{"extId":'),
      })
      expect(answer).toMatch(/^HTTP\/1\.1 408 /)
      expect(answer).toContain('body_timeout')
      expect(performance.now() - started).toBeLessThan(BODY_MS + 10_000)
    }
  })

  test('that never ends is cut off', async () => {
    for (const path of paths()) {
      let sending: NodeJS.Timeout | undefined
      const answer = await converse(path, {
        headers: ['transfer-encoding: chunked'],
        write: (send) => {
          sending = setInterval(() => send(`10000\r\n${'x'.repeat(0x10000)}\r\n`), 2)
        },
      })
      clearInterval(sending)
      expect(answer).toMatch(/^HTTP\/1\.1 (413|408) /)
    }
  })

  test('that hangs up after its message is confirmed loses nothing, and one before that does no harm', async () => {
    await world.drain()
    const token = world.as('webhook').authorization
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(world.url).port), '127.0.0.1', () => {
        socket.end(
          `POST /api/hooks/whatsapp HTTP/1.1\r\nhost: x\r\nauthorization: ${token}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"extId"`,
        )
      })
      socket.resume().on('close', () => resolve())
    })
    expect((await world.post(message)).status).toBe(200)
    expect(await world.drain()).toHaveLength(1)
  })
})
