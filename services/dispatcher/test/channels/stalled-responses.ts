import { BlockList } from 'node:net'
import { createModelClient } from '../../src/agents/model/model-client.ts'
import { createGuardedFetch } from '../../src/channels/http/guarded-fetch.ts'
import { createHttpClient } from '../../src/channels/http/http-client.ts'
import { modelRequest } from '../agents/model-world.ts'

// A process of its own, with little memory, that asks one server many times at once, as its arguments say. When nothing
// came for a second it prints how many MB it took at most, and how many of its calls have ended.
const [, , url = '', asked = '', count = '0'] = process.argv
const MB = 1024 * 1024
const TIMEOUT_MS = 120_000

const allowed = new BlockList()
allowed.addSubnet('127.0.0.0', 8)
const limits = { allowed, maxSockets: 4_096 }
const client = createModelClient({ fetch: createGuardedFetch({ ...limits, maxBytes: 5 * MB }).fetch })
const http = createHttpClient({ allowed })

const choice = { provider: 'openai-compatible', model: 'm', baseUrl: url, apiKey: 'k' } as const
const calls: Record<string, () => Promise<unknown>> = {
  stream: () => client.ask(choice, modelRequest({ timeoutMs: TIMEOUT_MS, onDelta: () => {} })),
  whole: () => client.ask(choice, modelRequest({ timeoutMs: TIMEOUT_MS })),
  handler: () => http.post({ url, headers: {}, body: '{}', timeoutMs: TIMEOUT_MS, maxBytes: MB }),
}

let ended = 0
let peak = 0
let idleSince = performance.now()
let busy = process.cpuUsage().user
for (let n = 0; n < Number(count); n++)
  calls[asked]?.()
    .catch(() => undefined)
    .then(() => ended++)

setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
  const { user } = process.cpuUsage()
  const isIdle = user - busy < 10_000
  busy = user
  if (!isIdle) idleSince = performance.now()
  if (performance.now() - idleSince < 1_500 && ended < Number(count)) return
  process.stdout.write(JSON.stringify({ peakMb: Math.round(peak / MB), ended }), () => process.exit())
}, 100)
