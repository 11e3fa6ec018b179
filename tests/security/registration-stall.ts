import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { Worker } from 'node:worker_threads'
import { type LoadResult, startSteadyLoad } from './steady-load.ts'

const SAMPLES_A_SECOND = 200
const BASELINE_MS = 5_000
const REGISTERING_MS = 10_000
const AT_ONCE = 8

/** Latencies of identity's cheapest route, asked directly, and of a server that does nothing else. */
export interface Sampled {
  identity: LoadResult
  bare: LoadResult
}

export interface StallResult {
  before: Sampled
  during: Sampled
  registrations: number
}

/**
 * Asks identity's `/health/live` 200 times a second, first alone, then beside 8 registrations at any time. An
 * answer takes the delay of its event loop and a little more, so its latency is an upper bound of that. A bare
 * server is asked at the same moments: what it takes too is the machine's doing.
 */
export async function watchRegistrations(options: {
  identityUrl: string
  register(): Promise<void>
}): Promise<StallResult> {
  const agent = new Agent({ keepAlive: true })
  const worker = new Worker(new URL('./bare-server.ts', import.meta.url))
  const [port] = await once(worker, 'message')
  const urls = { identity: `${options.identityUrl}/health/live`, bare: `http://127.0.0.1:${port}` }
  const sample = () => startSampling(urls, agent)
  try {
    const quiet = sample()
    await new Promise((resolve) => setTimeout(resolve, BASELINE_MS))
    const before = await quiet.stop()
    const watching = sample()
    const until = performance.now() + REGISTERING_MS
    let registrations = 0
    const oneAfterTheOther = async () => {
      while (performance.now() < until) {
        await options.register()
        registrations++
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, oneAfterTheOther))
    return { before, during: await watching.stop(), registrations }
  } finally {
    agent.destroy()
    await worker.terminate()
  }
}

function startSampling(urls: { identity: string; bare: string }, agent: Agent) {
  const load = (url: string) => startSteadyLoad({ rate: SAMPLES_A_SECOND, send: () => statusOf(url, agent) })
  const running = { identity: load(urls.identity), bare: load(urls.bare) }
  return {
    async stop(): Promise<Sampled> {
      const [identity, bare] = await Promise.all([running.identity.stop(), running.bare.stop()])
      return { identity, bare }
    },
  }
}

function statusOf(url: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    }).on('error', reject)
  })
}
