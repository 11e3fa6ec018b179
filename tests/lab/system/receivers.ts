import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { verifyWebhook } from '@parley/client/webhook'
import { type Listening, listen } from '@parley/local/testing/service-under-test'

/** An event as it came in. */
interface ReceivedEvent {
  id: string
  type: string
  timestamp: string
  workspace: number
  data: Record<string, unknown> & { _id?: string | number }
  /** Of the headers. */
  signedAt: number
}

/** A receiver of events on loopback. */
export interface EventReceiver extends Listening {
  /** Those whose signature is right, repeats included. */
  events: ReceivedEvent[]
  /** How many had another signature. */
  refused: number
  /** The secret for signatures; subscribers set it. */
  secret: string
  /** Returns its answer; 200 by default. `never`: nothing at all. */
  answer(event: ReceivedEvent): number | 'never' | Promise<number | 'never'>
}

export async function startEventReceiver(): Promise<EventReceiver> {
  const listening = await listen(async (req, res) => {
    const body = await text(req).catch(() => undefined)
    // The connection was cut.
    if (body === undefined) return
    try {
      const event = verifyWebhook<Omit<ReceivedEvent, 'id' | 'signedAt'>>(req.headers, body, receiver.secret)
      const received = {
        ...event,
        id: String(req.headers['webhook-id']),
        signedAt: Number(req.headers['webhook-timestamp']),
      }
      receiver.events.push(received)
      const status = await receiver.answer(received)
      if (status !== 'never') res.writeHead(status).end()
    } catch {
      receiver.refused++
      res.writeHead(401).end()
    }
  })
  const receiver: EventReceiver = { ...listening, events: [], refused: 0, secret: '', answer: () => 200 }
  return receiver
}

/** An endpoint that takes every call at once, and remembers when which one came. */
export async function startSink() {
  let received: Array<{ id: string; at: number }> = []
  let ids = new Map<string, number>()
  const { url, close } = await listen((req, res) => {
    req.resume().on('end', () => {
      const id = String(req.headers['webhook-id'])
      received.push({ id, at: performance.now() })
      ids.set(id, (ids.get(id) ?? 0) + 1)
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end('{}')
    })
  })
  return {
    url,
    close,
    /** Each call and when it came (milliseconds), in the order of arrival. */
    received: () => received,
    /** When each call came. */
    times: () => received.map(({ at }) => at),
    /** How many ids came more than once. */
    doubled: () => [...ids.values()].filter((count) => count > 1).length,
    /** How many different ids came. */
    count: () => ids.size,
    /** How many of those that came have an id that begins so. */
    countOf: (prefix: string) => [...ids.keys()].filter((id) => id.startsWith(prefix)).length,
    forget() {
      received = []
      ids = new Map()
    },
    /** Waits until `count` different ids came; throws when none came for a minute. */
    async until(count: number, tick: () => void = () => {}): Promise<void> {
      let last = performance.now()
      let seen = ids.size
      while (ids.size < count) {
        if (ids.size > seen) last = performance.now()
        seen = ids.size
        if (performance.now() - last > 60_000) throw new Error(`nothing came for a minute after ${seen}`)
        tick()
        await pause(50)
      }
    },
  }
}
