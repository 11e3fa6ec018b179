import type { WebhookMessage } from '@parley/shared/message'
import type { Channel, Channels } from './channels.ts'
import type { Handle, Handled } from './handlers/handle.ts'
import type { MessageRecord, Send } from './message-record.ts'
import { hasAnswer, planSends } from './plan.ts'
import type { End } from './progress.ts'

const LOOKUP_AGAIN_MS = 1_000
const LOOKUP_FOR_MS = 10_000

/** What there is to do with a message. */
export type Prepared =
  | { kind: 'ready'; channel: Channel; message: WebhookMessage; sends: Send[]; answer?: string }
  | { kind: 'end'; end: End; answer?: string }
  /** The channel may turn up in a moment (milliseconds since the epoch). */
  | { kind: 'later'; at: number }
  /** The handler did not answer. */
  | { kind: 'failed'; outcome: Exclude<Handled, { kind: 'answer' }>; ms: number }

/**
 * Finds the message's channel, has its handler answer where the message carries no answer, and plans the sends.
 * A message whose sends are planned already is not handled again. Rejects with `unavailable` when configuration
 * is away.
 */
export async function prepare(options: {
  record: MessageRecord
  channels: Channels
  handle: Handle
  now: () => number
}): Promise<Prepared> {
  const { record, channels, handle, now } = options
  const channel = await channels.find(record.workspace, record.channel)
  if (channel === undefined) return withoutChannel(record, now())
  const message = JSON.parse(record.body) as WebhookMessage
  if (record.state !== 'received') return { kind: 'ready', channel, message, sends: record.sends }
  if (hasAnswer(message.answer)) return planned({ record, channel, message })
  const started = performance.now()
  const handled = await handle({ channel, messageId: record._id, message })
  if (handled.kind !== 'answer') return { kind: 'failed', outcome: handled, ms: performance.now() - started }
  const answer = JSON.stringify(handled.answer)
  return planned({ record, channel, message: { ...message, answer: handled.answer }, answer })
}

/** Before anything was sent a missing channel may still turn up; after 10 s it counts. */
function withoutChannel(record: MessageRecord, at: number): Prepared {
  if (record.state !== 'received') {
    return { kind: 'end', end: { state: 'dead', reason: 'The channel is gone.', fault: 'channel' } }
  }
  if (at - record.receivedAt.getTime() < LOOKUP_FOR_MS) return { kind: 'later', at: at + LOOKUP_AGAIN_MS }
  return {
    kind: 'end',
    end: { state: 'unrouted', reason: 'The workspace has no channel with this external id.' },
  }
}

function planned(options: {
  record: MessageRecord
  channel: Channel
  message: WebhookMessage
  answer?: string
}): Prepared {
  const { record, channel, message } = options
  const answer = options.answer === undefined ? {} : { answer: options.answer }
  const plan = planSends(record._id, message.answer)
  if (plan.kind === 'dead')
    return { ...answer, kind: 'end', end: { state: 'dead', reason: plan.reason, fault: plan.fault } }
  if (plan.sends.length === 0) return { ...answer, kind: 'end', end: { state: 'done' } }
  return { ...answer, kind: 'ready', channel, message, sends: plan.sends }
}
