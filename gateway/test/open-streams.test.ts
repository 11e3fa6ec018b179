import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import type { PendingResponse } from '@parley/shared/exchange'
import { Registry } from 'prom-client'
import type { KnownCaller } from '../src/callers.ts'
import { createEventStreams, type EventStreams } from '../src/event-streams.ts'

let closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing) await close()
  closing = []
})

const knownUntil = (usableUntil: number, workspace = 1, account = 1) =>
  ({ usableUntil, caller: { workspace: { _id: workspace }, account: { _id: account } } }) as KnownCaller

/** Streams whose callers identity confirms as `resolve` says, and one that is open until `usableUntil`. */
async function openStream(resolve: (token: string) => Promise<KnownCaller>, usableUntil: number) {
  const streams: EventStreams = createEventStreams({ callers: { resolve }, registry: new Registry() })
  const server = await listen((_req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: {} })
    res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
    streams.begin({ token: 't', known: knownUntil(usableUntil), res })
  })
  closing.push(server.close, async () => streams.close())
  const response = await fetch(server.url)
  let isEnded = false
  void response
    .text()
    .catch(() => undefined)
    .then(() => {
      isEnded = true
    })
  return { streams, isEnded: () => isEnded }
}

test('a stream ends when its token has ended', async () => {
  const asked: string[] = []
  const refuse = (token: string) => {
    asked.push(token)
    return Promise.reject(new Error('expired'))
  }
  const { isEnded } = await openStream(refuse, performance.now() + 100)
  expect(await waitUntil(isEnded, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  expect(asked).toEqual(['t'])
})

test('a stream ends when its token has ended, also where that still passes because clocks differ', async () => {
  const endsAt = performance.now() + 100
  let asked = 0
  const confirm = async () => {
    asked++
    return knownUntil(endsAt)
  }
  const { isEnded } = await openStream(confirm, endsAt)
  expect(await waitUntil(() => isEnded() || asked > 3, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  expect([isEnded(), asked]).toEqual([true, 1])
})

test('a stream goes on where identity confirms its token again', async () => {
  let asked = 0
  const confirm = async () => knownUntil(performance.now() + (asked++ < 2 ? 50 : 60_000))
  const { isEnded, streams } = await openStream(confirm, performance.now())
  expect(await waitUntil(() => asked === 3, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  expect(isEnded()).toBe(false)
  streams.forgetAll()
  expect(await waitUntil(isEnded, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
})

test('a stream that ends before its service has answered is an empty one', async () => {
  const streams = createEventStreams({
    callers: { resolve: async () => knownUntil(1e12) },
    registry: new Registry(),
  })
  let abandoned = 0
  const server = await listen((_req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: { abandon: () => abandoned++ } })
    streams.begin({ token: 't', known: knownUntil(1e12), res })
    streams.forgetAll()
  })
  closing.push(server.close, async () => streams.close())
  const response = await fetch(server.url)
  const { status, headers } = response
  expect([status, headers.get('content-type'), headers.get('cache-control'), abandoned]).toEqual([
    200,
    'text/event-stream; charset=utf-8',
    'no-store',
    1,
  ])
  expect(await response.text()).toBe('')
})

test('streams end at once when the process stops, and none begins', async () => {
  const { isEnded, streams } = await openStream(() => Promise.reject(new Error('not asked')), 1e12)
  streams.end()
  expect(await waitUntil(isEnded, { timeoutMs: 30_000, intervalMs: 20 })).toBe(true)
  const res = { once: () => undefined } as unknown as PendingResponse
  expect(() => streams.begin({ token: 't', known: knownUntil(1e12), res })).toThrow('Too many event streams')
})

test('a stream whose reader hung up before its token was known is not counted', async () => {
  const registry = new Registry()
  const streams = createEventStreams({ callers: { resolve: async () => knownUntil(1e12) }, registry })
  closing.push(async () => streams.close())
  let begun = 0
  const begin = (res: PendingResponse) => {
    streams.begin({ token: 't', known: knownUntil(1e12), res })
    begun++
  }
  const server = await listen((req, plain) => {
    const res: PendingResponse = Object.assign(plain, { locals: {} })
    if (req.url === '/gone') return void res.once('close', () => begin(res))
    begin(res)
    res.end()
  })
  closing.push(server.close)
  // As many as one token may have.
  for (let n = 1; n <= 20; n++) {
    const { port } = new URL(server.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('GET /gone HTTP/1.1\r\nHost: x\r\n\r\n', () => socket.destroy())
    expect(await waitUntil(() => begun === n, { timeoutMs: 30_000, intervalMs: 5 })).toBe(true)
  }
  expect(await registry.metrics()).toContain('parley_event_streams 0')
  expect((await fetch(server.url)).status).toBe(200)
})

test('where all places are taken, a workspace that has fewer ends the oldest stream of the one that has most', async () => {
  const registry = new Registry()
  const streams = createEventStreams({ callers: { resolve: async () => knownUntil(1e12) }, registry })
  closing.push(async () => streams.close())
  const begin = (workspace: number, account: number, token: string) => {
    const plain = new ServerResponse(new IncomingMessage(new Socket()))
    const res: PendingResponse = Object.assign(plain, { locals: { abandon: () => undefined } })
    streams.begin({ token, known: knownUntil(1e12, workspace, account), res })
    return res
  }
  const eve = Array.from({ length: 5_000 }, (_, n) =>
    begin(1, Math.floor(n / 2_500), `t${Math.floor(n / 20)}`),
  )
  const others = [2, 3, 4].map((workspace) => begin(workspace, 9, `${workspace}`))
  const ended = eve.flatMap((res, n) => (res.writableEnded ? [n] : []))
  expect([ended, others.map(({ writableEnded }) => writableEnded)]).toEqual([
    [0, 20, 2_500],
    [false, false, false],
  ])
  // In its own workspace an account takes from the account that has most, and a token from another token.
  const more = [begin(1, 2, 'a third account'), begin(1, 0, 'another token')]
  expect(() => Array.from({ length: 21 }, () => begin(1, 2, 'a third account'))).toThrow(
    expect.objectContaining({ code: 'too_many_streams' }),
  )
  for (const res of [...eve, ...others, ...more]) res.emit('close')
  for (const res of eve) res.emit('close')
  expect(await registry.metrics()).toContain('parley_event_streams 19')
})
