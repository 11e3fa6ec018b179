// 1,000 event streams on one gateway while 100 messages a second come in: order, completeness, latency, memory.
import { createParley } from '@parley/client'
import { createEventParser } from '@parley/client/event-stream'
import { readRunFile } from '@parley/local/demo/running-system'
import { listen } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { connectRpc } from '../lab/load/lines.ts'
import { startOpenLoop } from '../lab/load/loops.ts'
import { median, quantile, report } from '../lab/report/results.ts'
import { startOwnSystem } from '../lab/system/own-system.ts'
import { residentMib } from '../lab/system/processes.ts'
import { makeApiToken, registerWorkspace } from '../lab/system/workspace.ts'

const size = z.object({
  STREAMS: integer({ min: 1, max: 5_000 }).default(1_000).describe('Streams, each of a thread of its own'),
  RATE: integer({ min: 1, max: 1_000 }).default(100).describe('Messages a second'),
  SECONDS: integer({ min: 1, max: 600 }).default(30).describe('For how long'),
})
const OF_TOKEN = 20
const STATES = ['received', 'handled', 'sending', 'delivered']
const LATE_MS = 60_000
/** The most memory that 1,000 streams may take in one process, in MiB. */
const MOST_MIB = 150

const { STREAMS, RATE, SECONDS } = parseConfig(size, process.env)

/** The record of one stream: the states of its messages, in the order in which they came. */
interface Seen {
  states: { id: string; state: string }[]
  isEnded: boolean
}

const sink = await listen((req, res) => void req.resume().once('end', () => res.end('{}')))
const agent = new Agent({ bodyTimeout: 0, connections: null })
const own = await startOwnSystem({ instances: {}, say: () => undefined })
try {
  await measure(own.system.gatewayUrl)
} finally {
  await agent.destroy()
  await own.stop()
  await sink.close()
}

async function measure(url: string): Promise<void> {
  const { client, tokens } = await prepare(url)
  const { gateway, dispatcher } = readRunFile(own.runFile)?.processes ?? {}
  const memory = () => [gateway, dispatcher].map((one) => residentMib({ pid: one?.pid }))
  await send(client, 'warm up', 50)
  const before = memory()
  const latencies: number[] = []
  const accepted = new Map<string, number>()
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, n) => {
      const token = tokens[Math.floor(n / OF_TOKEN)] ?? ''
      return follow(`${url}/rest/threads/thread-${n}/events`, token, (id) => {
        const at = accepted.get(id)
        if (at !== undefined) latencies.push(performance.now() - at)
      })
    }),
  )
  const open = memory()
  const posted = Array.from({ length: STREAMS }, (): string[] => [])
  await startOpenLoop({
    ...{ rate: RATE, most: RATE * SECONDS },
    async send(index) {
      const thread = index % STREAMS
      const { id } = await post(client, `thread-${thread}`)
      accepted.set(id, performance.now())
      posted[thread]?.push(id)
    },
  }).ended
  const isWhole = () =>
    streams.every(({ states }, n) => states.length >= (posted[n]?.length ?? 0) * STATES.length)
  await waitUntil(isWhole, { timeoutMs: LATE_MS })
  const after = memory()
  const right = streams.filter((seen, n) => isComplete(seen, posted[n] ?? [])).length
  show({ right, before, open, after, latencies })
}

function isComplete({ states, isEnded }: Seen, posted: string[]): boolean {
  const eachComplete = posted.every((id) => {
    const own = states.filter((each) => each.id === id).map(({ state }) => state)
    return own.join() === STATES.join()
  })
  const ends = states.filter(({ state }) => state === STATES.at(-1)).map(({ id }) => id)
  return (
    !isEnded &&
    eachComplete &&
    ends.join() === posted.join() &&
    states.length === posted.length * STATES.length
  )
}

function show(measured: {
  right: number
  before: number[]
  open: number[]
  after: number[]
  latencies: number[]
}): void {
  const { right, before, open, after, latencies } = measured
  const p99 = quantile(latencies, 0.99)
  const grown = after.map((mib, at) => mib - (before[at] ?? 0))
  console.log(
    `${right} of ${STREAMS} streams have each event of their messages, once and in order; ` +
      `delivered to event p50 ${median(latencies).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms after the post; ` +
      `gateway and dispatcher ${before.join(' and ')} MiB, with open streams ${open.join(' and ')}, at the end ${after.join(' and ')}`,
  )
  report({
    row: `event streams in order, of ${STREAMS} at ${RATE} messages/s`,
    parley: `${right}, p50 ${median(latencies).toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    against: `${STREAMS} opened`,
    ratio: right / STREAMS,
    spread: [right / STREAMS, right / STREAMS],
    reach: { least: 1 },
  })
  report({
    row: 'memory that the streams take, MiB',
    parley: `gateway ${grown[0]}, dispatcher ${grown[1]}`,
    against: `${MOST_MIB} in each`,
    ratio: Math.max(...grown) / MOST_MIB,
    spread: [Math.min(...grown) / MOST_MIB, Math.max(...grown) / MOST_MIB],
    reach: { most: 1 },
  })
}

/** A workspace whose channel calls the sink, and as many API tokens as the streams need. */
async function prepare(url: string) {
  const workspace = await registerWorkspace(url, 'streams')
  await connectRpc({ workspace, callbackUrl: `${sink.url}/callback`, id: 1, extId: 'line' })
  const tokens: string[] = []
  for (let n = 0; n < Math.ceil(STREAMS / OF_TOKEN); n++)
    tokens.push((await makeApiToken(workspace, { name: `reader ${n}`, role: 'VIEWER' })).token)
  return { client: createParley({ url, token: workspace.token }), tokens }
}

async function send(client: ReturnType<typeof createParley>, thread: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await post(client, thread)
}

function post(client: ReturnType<typeof createParley>, thread: string) {
  const message = { extId: 'line', user: {}, thread: { extId: thread }, answer: { message: 'hello' } }
  return client.messages.send(message as Parameters<typeof client.messages.send>[0])
}

/** Opens a stream and reads it from then on. */
async function follow(url: string, token: string, delivered: (id: string) => void): Promise<Seen> {
  const { statusCode, body } = await request(url, {
    dispatcher: agent,
    headers: { authorization: `Bearer ${token}` },
  })
  if (statusCode !== 200) throw new Error(`a stream was answered ${statusCode}: ${await body.text()}`)
  const parser = createEventParser({ maxCharacters: 1024 * 1024, id: '' })
  const seen: Seen = { states: [], isEnded: false }
  body.setEncoding('utf8')
  body.on('data', (text: string) => {
    for (const { event, data } of parser.push(text)) {
      if (event !== 'state') continue
      const { _id: id, state } = JSON.parse(data) as { _id: string; state: string }
      seen.states.push({ id, state })
      if (state === STATES.at(-1)) delivered(id)
    }
  })
  body.once('close', () => {
    seen.isEnded = true
  })
  body.on('error', () => undefined)
  return seen
}
