import { afterAll, beforeEach, expect, test } from '@jest/globals'
import { listen } from '@parley/local/testing/service-under-test'
import { buildConnector } from 'undici'
import { OriginPools } from '../../src/channels/http/origin-pools.ts'

const MAX_SOCKETS = 2
const paths: string[] = []
const { url: origin, close } = await listen((req, res) => {
  paths.push(req.url ?? '')
  const headers = req.url?.startsWith('/close') ? { connection: 'close' } : {}
  res.writeHead(200, headers).end(req.url)
})
const pools = new OriginPools({ connections: MAX_SOCKETS, pipelining: 1 })

beforeEach(() => {
  paths.length = 0
})
afterAll(async () => {
  pools.close()
  await close()
})

/** The response's body. */
function get(path: string, from = pools): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    from.dispatch(
      { origin, path, method: 'GET' },
      {
        onRequestStart: () => {},
        onResponseStart: () => {},
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => resolve(Buffer.concat(chunks).toString()),
        onResponseError: (_, error) => reject(error),
      },
    )
  })
}

test('however its connections close between them, each request is made once', async () => {
  const asked = Array.from({ length: 300 }, (_, n) => `/${n % 3 === 0 ? 'kept' : 'close'}/${n}`)
  const first = asked.slice(0, 150).map((path) => get(path))
  expect(await Promise.all(first)).toEqual(asked.slice(0, 150))
  for (const path of asked.slice(150)) expect(await get(path)).toBe(path)
  expect(paths.toSorted()).toEqual(asked.toSorted())
})

test('an origin that can not be reached is tried anew with each request', async () => {
  const connector = buildConnector({})
  let failures = MAX_SOCKETS
  const connect: typeof connector = (options, done) =>
    failures-- > 0 ? done(new Error('unreachable'), null) : connector(options, done)
  const unavailable = new OriginPools({ connections: MAX_SOCKETS, connect })
  const failed = await Promise.allSettled([get('/1', unavailable), get('/2', unavailable)])
  expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(await get('/3', unavailable)).toBe('/3')
  unavailable.close()
})

test('what is going on is broken off by close', async () => {
  const closing = new OriginPools({ connections: MAX_SOCKETS })
  const asked = ['/1', '/2', '/3'].map((path) => get(path, closing))
  closing.close()
  for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected')
})
