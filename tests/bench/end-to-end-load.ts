// The load of the benchmarks end-to-end and peers, a process of its own: the client that posts, and the endpoint where the sends arrive.
import { setTimeout as pause } from 'node:timers/promises'
import { percentile } from '@parley/local/demo/reconciliation'
import { listen } from '@parley/local/testing/service-under-test'
import { z } from 'zod'
import { asFastAsPossible, atRate } from '../lab/load/http-lines.ts'
import { rateBetween } from '../lab/report/results.ts'
import { countDeliveries, type DeliveryCounts } from '../lab/verdict/arrivals.ts'
import { type LoadTarget, messageRequest } from './load-requests.ts'

/** Where the messages are to be delivered; it is the first that this process sends to its parent. */
export interface LoadEndpoint {
  url: string
}

/** One load, which the parent sends; this process answers with its {@link LoadOutcome}. */
export interface LoadTask {
  target: LoadTarget
  /** Unlike that of any load before. */
  name: string
  connections: number
  seconds: number
  /** Ends it earlier, after so many. */
  messages?: number
  /** Messages a second, each at its time; without it each connection posts as soon as it has been answered. */
  rate?: number
  /** How long to wait after the last arrival: a repeat would come by then, and what follows a message be done. */
  calmSeconds: number
}

export interface LoadOutcome extends DeliveryCounts {
  posted: number
  /** Posts that were not answered with 2xx. */
  refused: number
  /** Posts a second, and messages that arrived a second, those from the tenth to the last tenth. */
  postsPerSecond: number
  perSecond: number
  /** Messages a second from the first post to the last arrival. */
  drainedPerSecond: number
  /** Milliseconds from the time of the post to its answer. */
  accepted: { p50: number; p99: number }
  /** Milliseconds from the time of the post to the arrival. */
  p50: number
  p99: number
}

const SILENCE_MS = 30_000
const CHECK_MS = 20
const call = z.looseObject({ variables: z.tuple([z.string(), z.coerce.number()]) })

let arrived: { load: string; index: number; at: number }[] = []
const endpoint = await listen((req, res) => {
  const chunks: Buffer[] = []
  req.on('data', (chunk: Buffer) => chunks.push(chunk))
  req.on('end', () => {
    const { variables } = call.parse(JSON.parse(Buffer.concat(chunks).toString()))
    arrived.push({ load: variables[0], index: variables[1], at: performance.now() })
    res.writeHead(200).end()
  })
})
process.once('disconnect', () => process.exit())
process.on('message', async (task: LoadTask) => process.send?.(await carryOut(task)))
process.send?.({ url: endpoint.url } satisfies LoadEndpoint)

async function carryOut(task: LoadTask): Promise<LoadOutcome> {
  arrived = []
  const { target, connections, seconds, messages = Number.POSITIVE_INFINITY, rate } = task
  const { port } = target
  const postedAt: number[] = []
  const request = (index: number, from: number) => {
    postedAt[index] = from
    return messageRequest(target, task.name, index)
  }
  const began = performance.now()
  const until = began + seconds * 1_000
  const goesOn = (count: number) => count < messages && performance.now() < until
  const posts =
    rate === undefined
      ? await asFastAsPossible({ port, connections, request, goesOn })
      : await atRate({ port, connections, request, rate, seconds })
  await untilArrived(postedAt.length)
  await pause(task.calmSeconds * 1_000)
  const own = arrived.filter(({ load }) => load === task.name)
  const ms = own.map(({ index, at }) => at - (postedAt[index] ?? Number.NaN))
  return {
    posted: postedAt.length,
    refused: posts.failures,
    ...countDeliveries({
      posted: postedAt.length,
      arrived: own.map(({ index }) => index),
      strange: arrived.length - own.length,
    }),
    postsPerSecond: posts.perSecond,
    perSecond: rateBetween(
      own.map(({ at }) => at),
      0.1,
      0.9,
    ),
    drainedPerSecond: (own.length * 1_000) / ((own.at(-1)?.at ?? Number.NaN) - began),
    accepted: { p50: posts.p50, p99: posts.p99 },
    p50: percentile(ms, 0.5) ?? Number.NaN,
    p99: percentile(ms, 0.99) ?? Number.NaN,
  }
}

/** Waits until so many came, or none for 30 s. */
async function untilArrived(count: number): Promise<void> {
  let seen = { count: arrived.length, at: performance.now() }
  while (arrived.length < count && performance.now() - seen.at < SILENCE_MS) {
    if (arrived.length > seen.count) seen = { count: arrived.length, at: performance.now() }
    await pause(CHECK_MS)
  }
}
