import type { IncomingMessage, ServerResponse } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createParley } from '@parley/client'
import { createEventParser, followEvents, type ServerEvent } from '@parley/client/event-stream'
import { refusalOf } from '@parley/client/parley-error'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'

const read = (parts: string[], id = '') => {
  const parser = createEventParser({ maxCharacters: 1_000, id })
  return parts.flatMap((part) => [...parser.push(part)])
}

describe('the parser of event streams', () => {
  test('reads events, names, ids, comments and several lines of data', () => {
    const stream = ': hello\n\nid: 1\nevent: state\ndata: {"a":\ndata:1}\n\ndata\n\nid: 2\n\ndata:  two\n\n'
    expect(read([stream])).toEqual([
      { id: '1', event: 'state', data: '{"a":\n1}' },
      { id: '1', event: 'message', data: '' },
      { id: '2', event: 'message', data: ' two' },
    ])
  })

  test('drops an event that has not ended, an id with NUL and unknown fields', () => {
    expect(read(['id: a\0b\nfoo: bar\ndata: x\n\ndata: unfinished\n'])).toEqual([
      { id: '', event: 'message', data: 'x' },
    ])
  })

  test('reads the same in whatever parts a stream arrives, with any line ends', () => {
    const lines = fc.constantFrom('data: x', 'data: é', 'id: 7', 'event: e', ': c', '', '', 'retry: 10')
    const ends = fc.constantFrom('\n', '\r\n', '\r')
    const stream = fc.array(fc.tuple(lines, ends)).map((all) => all.map((pair) => pair.join('')).join(''))
    const split = (text: string, cuts: number[]) => {
      const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted((a, b) => a - b)
      return places.slice(1).map((end, at) => text.slice(places[at], end))
    }
    fc.assert(
      fc.property(stream, fc.array(fc.nat()), (text, cuts) => {
        expect(read(split(text, cuts))).toEqual(read([text]))
      }),
    )
  })

  test('refuses an event that does not end', () => {
    expect(() => read(['data: ', 'x'.repeat(1_001)])).toThrow('too large')
    expect(() => read(Array.from({ length: 200 }, () => 'data: xxxxx\n'))).toThrow('too large')
  })
})

let server: Listening | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Handler = (req: IncomingMessage, res: ServerResponse, connection: number) => void

/** A server of event streams that counts its connections. */
async function streams(handler: Handler): Promise<Listening> {
  let connections = 0
  server = await listen((req, res) => handler(req, res, ++connections))
  return server
}

function write(res: ServerResponse, text: string): void {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream' })
  res.write(text)
}

async function take(events: AsyncIterable<ServerEvent>, count: number): Promise<string[]> {
  const data: string[] = []
  for await (const event of events) if (data.push(event.data) === count) break
  return data
}

describe('an event stream', () => {
  test('goes on after the last event when its connection ends or breaks', async () => {
    const after: unknown[] = []
    const { url } = await streams((req, res, connection) => {
      after.push(req.headers['last-event-id'])
      const text = `retry: 1\nid: ${connection}\ndata: ${connection}\n\ndata: half of an event\n`
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(text, () => {
        if (connection === 1) res.end()
        // A reset would overtake what was written.
        if (connection === 2) req.socket.end()
      })
    })
    const parley = createParley({ url, token: 't' })
    expect(await take(parley.events('/rest/events', { lastEventId: '0' }), 3)).toEqual(['1', '2', '3'])
    expect(after).toEqual(['0', '1', '2'])
  })

  test('sends the token in the header, and refreshes it where it is refused', async () => {
    const tokens: unknown[] = []
    const { url } = await streams((req, res) => {
      if (req.url === '/api/auth/refresh') {
        const session = { accessToken: 'new', refreshToken: 'r2', tokenType: 'Bearer', expiresAt: '' }
        return void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(session))
      }
      tokens.push(`${req.url} ${req.headers.authorization}`)
      if (req.headers.authorization === 'Bearer new') write(res, 'data: x\n\n')
      else res.writeHead(401).end()
    })
    const session = { accessToken: 'old', refreshToken: 'r1', tokenType: 'Bearer' as const, expiresAt: '' }
    expect(await take(createParley({ url, session }).events('/rest/events'), 1)).toEqual(['x'])
    expect(tokens).toEqual(['/rest/events Bearer old', '/rest/events Bearer new'])
  })

  test('is opened again after silence', async () => {
    const { url } = await streams((_req, res, connection) =>
      write(res, connection === 1 ? 'retry: 1\n\n' : 'data: second\n\n'),
    )
    const open = ({ headers, signal }: { headers: Record<string, string>; signal: AbortSignal }) =>
      fetch(url, { headers, signal })
    expect(await take(followEvents({ open, refusalOf, silenceMs: 200 }), 1)).toEqual(['second'])
  })

  test('waits out what passes, and throws what does not', async () => {
    const { url } = await streams((_req, res, connection) => {
      if (connection === 1) res.writeHead(503).end()
      else
        res
          .writeHead(403, { 'content-type': 'application/problem+json' })
          .end('{"code":"forbidden","title":"No"}')
    })
    const events = createParley({ url, token: 't' }).events('/rest/events')
    await expect(events.next()).rejects.toMatchObject({ status: 403, code: 'forbidden' })
  })

  test('that can not be opened is given up after the time of repeats, and says each retry', async () => {
    const { url } = await streams((_req, res) => void res.writeHead(503).end())
    const errors: unknown[] = []
    const onRetry = (error: unknown) => void errors.push(error)
    const events = createParley({ url, token: 't', repeatForMs: 1_500 }).events('/rest/events', { onRetry })
    await expect(events.next()).rejects.toMatchObject({ status: 503 })
    expect(errors).toEqual(errors.map(() => expect.objectContaining({ status: 503 })))
    expect(errors.length).toBeGreaterThan(0)
    const once = createParley({ url, token: 't', repeatForMs: 0 }).events('/rest/events')
    await expect(once.next()).rejects.toMatchObject({ status: 503 })
  })

  test('that was open once is opened again beyond the time of repeats', async () => {
    const { url } = await streams((req, res, connection) => {
      if (connection === 1) write(res, 'retry: 1\ndata: first\n\n')
      if (connection === 1) setImmediate(() => req.socket.end())
      else if (connection < 5) res.writeHead(503).end()
      else write(res, 'data: second\n\n')
    })
    const events = createParley({ url, token: 't', repeatForMs: 0 }).events('/rest/events')
    expect(await take(events, 2)).toEqual(['first', 'second'])
  })

  test('whose server does not respond counts as broken after the time of one attempt', async () => {
    const { url } = await streams(() => undefined)
    const parley = createParley({ url, token: 't', timeoutMs: 100, repeatForMs: 0 })
    await expect(parley.events('/rest/events').next()).rejects.toMatchObject({ name: 'TimeoutError' })
  })

  test('is closed when it ends, also after the garbage was collected', async () => {
    let closed = 0
    const { url } = await streams((req, res) => {
      req.socket.once('close', () => closed++)
      write(res, 'data: x\n\n')
    })
    setFlagsFromString('--expose-gc')
    const collectGarbage: () => Promise<void> = runInNewContext("() => gc({ execution: 'async' })")
    for await (const _event of createParley({ url, token: 't' }).events('/rest/events')) {
      await collectGarbage()
      break
    }
    await eventually(() => closed === 1, { timeoutMs: 5_000 })
    const events = createParley({ url, token: 't' }).events('/rest/events')
    await events.next()
    await collectGarbage()
    await events.return(undefined)
    await eventually(() => closed === 2, { timeoutMs: 5_000 })
  })

  test('says whenever it is open, and ends with the signal', async () => {
    const { url } = await streams((_req, res, connection) => {
      if (connection === 1) res.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 1\n\n')
      else write(res, 'data: x\n\n')
    })
    const parley = createParley({ url, token: 't' })
    let opened = 0
    const onOpen = () => void opened++
    const ending = new AbortController()
    const seen: string[] = []
    for await (const { data } of parley.events('/open', { signal: ending.signal, onOpen })) {
      seen.push(data)
      ending.abort()
    }
    expect([seen, opened]).toEqual([['x'], 2])
  })
})
