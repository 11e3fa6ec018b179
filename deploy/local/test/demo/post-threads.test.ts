import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { planThreads } from '@parley/local/demo/demo-plan'
import { postThreads } from '@parley/local/demo/post-threads'

let server: Server
let answers: (number | 'hang up')[]
let keys: string[]

beforeEach(async () => {
  keys = []
  server = createServer((req, res) => {
    keys.push(String(req.headers['idempotency-key']))
    const answer = answers.shift() ?? 200
    if (answer === 'hang up') return void res.destroy()
    res.writeHead(answer, { 'retry-after': '0' }).end('{}')
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
})

afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

async function post(size: { messages: number; threads: number }) {
  let answered = 0
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
    inFlight: 4,
    onAnswered: () => answered++,
  })
  return { posted, answered }
}

test('repeats what is not known to be safe under the same key, before the next of the thread', async () => {
  answers = [503, 'hang up', 429, 200]
  const { posted, answered } = await post({ messages: 2, threads: 1 })
  expect(keys).toEqual([...Array(4).fill('demo-r-0-0'), 'demo-r-0-1'])
  expect(posted.map(({ repeats }) => repeats)).toEqual([3, 0])
  expect(answered).toBe(2)
})

test('posts every message of every thread, those of a thread in order', async () => {
  answers = []
  const { posted } = await post({ messages: 50, threads: 7 })
  expect(posted).toHaveLength(50)
  for (let thread = 0; thread < 7; thread++) {
    const sequences = posted.filter((message) => message.thread === thread).map(({ sequence }) => sequence)
    expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))
  }
})

test('gives up at once on what a repeat would not mend', async () => {
  answers = [401]
  await expect(post({ messages: 1, threads: 1 })).rejects.toThrow('The gateway answered 401 to a message.')
})
