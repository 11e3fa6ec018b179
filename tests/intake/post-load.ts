import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** One message of the load: what was sent, and what came of it. */
export interface PostedMessage {
  thread: string
  sequence: number
  key: string
  /** 0 when no answer came. */
  status: number
  ms: number
}

export interface PostedLoad {
  posted: PostedMessage[]
  done: Promise<void>
}

const RETRY_AFTER_MS = 1_000
const RESPONSE_MS = 15_000

/** The body of one message; its `input` is different from that of all others. */
const messageOf = ({ thread, sequence }: { thread: string; sequence: number }) => ({
  extId: 'intake',
  user: { phone: thread },
  thread: { extId: thread },
  answer: {},
  input: `${thread}/${sequence}`,
})

interface Poster {
  post(message: PostedMessage): Promise<void>
  close(): void
}

/** Posts with idempotency keys over connections that stay open. */
export function createPoster(options: { gatewayUrl: string; token: string; connections: number }): Poster {
  const { gatewayUrl, token, connections } = options
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  return {
    async post(message) {
      const began = performance.now()
      const body = JSON.stringify(messageOf(message))
      message.status = await new Promise<number>((resolve) => {
        const headers = {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'idempotency-key': message.key,
        }
        const url = `${gatewayUrl}/api/hooks/whatsapp`
        const sent = request(url, { method: 'POST', agent, headers, timeout: RESPONSE_MS }, (answer) => {
          answer.resume().once('close', () => resolve(answer.statusCode ?? 0))
        })
        sent.once('timeout', () => sent.destroy(new Error('no answer')))
        sent.once('error', () => resolve(0))
        sent.end(body)
      })
      message.ms = performance.now() - began
    },
    close: () => agent.destroy(),
  }
}

/**
 * Posts `messages` over `threads` threads, each thread one after the other, `rate` a second at most. What is not
 * confirmed is left behind; its thread goes on a second later.
 */
export function startLoad(options: {
  poster: Poster
  run: string
  messages: number
  threads: number
  rate: number
}): PostedLoad {
  const { poster, run, messages, threads, rate } = options
  const posted: PostedMessage[] = []
  let due = performance.now()
  const work = async (_: unknown, index: number) => {
    const thread = `${run}-${index}`
    for (let sequence = 0; posted.length < messages; sequence++) {
      const message = { thread, sequence, key: `${thread}-${sequence}`, status: 0, ms: 0 }
      posted.push(message)
      due = Math.max(due + 1_000 / rate, performance.now() - 1_000)
      await pause(Math.max(0, due - performance.now()))
      await poster.post(message)
      if (message.status !== 200) await pause(RETRY_AFTER_MS)
    }
  }
  return { posted, done: Promise.all(Array.from({ length: threads }, work)).then(() => undefined) }
}
