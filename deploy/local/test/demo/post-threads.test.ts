import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { planThreads } from '@parley/local/demo/demo-plan'
import { postThreads } from '@parley/local/demo/post-threads'

let server: Server
let statuses: (number | 'hang up')[]
let keys: string[]

beforeEach(async () => {
  keys = []
  server = createServer((req, res) => {
    keys.push(String(req.headers['idempotency-key']))
    const status = statuses.shift() ?? 200
    if (status === 'hang up') return void res.destroy()
    res.writeHead(status, { 'retry-after': '0' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function post(size: { messages: number; threads: number; rate?: number }) {
  let accepted = 0
  const { port } = server.address() as AddressInfo
  const posted = await postThreads({
    threads: planThreads({ ...size, run: 'r' }),
    gateway: {
      postMessage: (message, key) =>
        fetch(`http://127.0.0.1:${port}/`, {
          method: 'POST',
          headers: { 'idempotency-key': key },
          body: JSON.stringify(message),
        }),
    },
    inFlight: size.threads,
    ...(size.rate === undefined ? {} : { rate: size.rate }),
    onAccepted: () => accepted++,
  })
  return { posted, accepted }
}

test('an unconfirmed message is repeated under the same key before the next of its thread', async () => {
  statuses = [503, 'hang up', 429, 200]
  const { posted, accepted } = await post({ messages: 2, threads: 1 })
  expect(keys).toEqual([...Array(4).fill('demo-r-0-0'), 'demo-r-0-1'])
  expect(posted.map(({ repeats }) => repeats)).toEqual([3, 0])
  expect(accepted).toBe(2)
})

test('every message of every thread is posted, those of a thread in order', async () => {
  statuses = []
  const { posted } = await post({ messages: 50, threads: 7 })
  expect(posted).toHaveLength(50)
  for (let thread = 0; thread < 7; thread++) {
    const sequences = posted.filter((message) => message.thread === thread).map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  }
})

test('a refused message is repeated before those that wait for their turn', async () => {
  statuses = [503]
  const { posted } = await post({ messages: 6, threads: 6, rate: 4 })
  expect(keys.slice(0, 3)).toEqual(['demo-r-0-0', 'demo-r-0-0', 'demo-r-1-0'])
  expect(posted.map(({ postedAt }) => postedAt - (posted[0]?.postedAt ?? 0))[5]).toBeGreaterThan(1_000)
})

test('posting fails at once on a status that a repeat can’t change', async () => {
  statuses = [401]
  await expect(post({ messages: 1, threads: 1 })).rejects.toThrow(
    'The gateway responded with 401 to a message.',
  )
})
