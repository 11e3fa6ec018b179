import { text } from 'node:stream/consumers'
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
  /** What it signs with; those who subscribe set it. */
  secret: string
  /** What it answers; 200 unless said otherwise. `never`: nothing at all. */
  answer(event: ReceivedEvent): number | 'never' | Promise<number | 'never'>
}

export async function startEventReceiver(): Promise<EventReceiver> {
  const listening = await listen(async (req, res) => {
    const body = await text(req)
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
