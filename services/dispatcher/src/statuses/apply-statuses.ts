import { defined } from '@parley/shared/defined'
import type { MessagePricing } from '@parley/shared/message-status'
import type { Attempt, MessageRecord, Progress, Send, SendState } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import { endOfSends, isResumable, nextToSend, triesOf, withAttempt, withEntry } from '../message/progress.ts'
import { later, stateOfSends } from '../message/send-state.ts'
import { settleFailure } from '../message/settle.ts'

const MAX_FAILED_IDS = 16

/** A status of one send, from the provider. */
export interface SendStatus {
  /** The send's position in its message. */
  index: number
  state: Extract<SendState, 'sent' | 'delivered' | 'read' | 'failed'>
  providerId: string
  at: Date
  /** Why it failed. */
  failure?: Extract<Outcome, { kind: 'retryable' | 'permanent' }>
  pricing?: MessagePricing
}

/**
 * A message's progress after statuses of its sends, or undefined when they say nothing new. Statuses move forward
 * only. For a message still in the pipeline, a status of the send that comes next settles it: it is no longer waited
 * for. One of another send leaves the wait as it is. What failed, and may work later, is to be sent again.
 */
export function applyStatuses(
  record: MessageRecord,
  statuses: SendStatus[],
  now = Date.now(),
): Progress | undefined {
  const { sends, attempts } = statuses.reduce((before, status) => withStatus(record, before, status, now), {
    sends: record.sends,
    attempts: record.attempts,
  })
  if (sends === record.sends) return undefined
  const { state, tries, timeline, open, answer, reason, fault, expiresAt, due, waitingFor } = record
  const optional = defined({ answer, reason, fault, expiresAt, due, waitingFor })
  const progress: Progress = { state, tries, timeline, attempts, sends, ...optional }
  if (open === true) {
    const next = nextToSend(record.sends)
    if (next === undefined || sends[next]?.state === record.sends[next]?.state) return { ...progress, open }
    const { due: _due, waitingFor: _for, ...now } = progress
    // The failed tries were of the send that is settled now.
    return { ...now, open, tries: 0 }
  }
  const end = endedAs({ record, sends, statuses })
  if (end === undefined) return progress
  const { reason: _reason, fault: _fault, ...before } = progress
  return { ...before, ...end }
}

/**
 * What an ended message's state becomes; undefined where it stays as it is. A dead message leaves that state when all of
 * its sends turn out to have been taken, and nothing of its failure stays.
 */
function endedAs(options: {
  record: MessageRecord
  sends: Send[]
  statuses: SendStatus[]
}): Partial<Progress> | undefined {
  const { record, sends, statuses } = options
  if (nextToSend(sends) !== undefined || record.ending !== undefined) return undefined
  // It runs again, and is as it was until then.
  if (isResumable({ sends })) return undefined
  const state = stateOfSends(sends)
  if (state === record.state) return undefined
  const said = { reason: 'The provider says that it failed.', fault: 'provider' as const }
  const end = state === 'failed' ? { ...said, ...endOfSends(sends) } : { state }
  const at = statuses.at(-1)?.at ?? record.updatedAt
  const entry = { at, state, ...('reason' in end && { reason: end.reason }) }
  return { ...end, timeline: withEntry(record.timeline, entry) }
}

type Sent = Pick<MessageRecord, 'sends' | 'attempts'>

function withStatus(record: MessageRecord, before: Sent, status: SendStatus, now: number): Sent {
  const { index, state, providerId } = status
  const send = before.sends[index]
  if (send === undefined) return before
  const changed = (change: Send, attempts = before.attempts): Sent => ({
    sends: before.sends.map((one) => (one === send ? change : one)),
    attempts,
  })
  const priced = withPricing(send, status)
  if (isOld(send, status, before.attempts) || later(send.state, state) === send.state)
    return priced === send ? before : changed(priced)
  if (state === 'failed') {
    const mayRetry = isRetriable(record)
    const { failed, attempt } = failedSend(priced, status, {
      tries: triesOf({ ...record, sends: before.sends }, index),
      mayRetry,
      now,
    })
    return changed(failed, withAttempt(before.attempts, attempt))
  }
  const { failure: _failure, retryAt: _retryAt, ...taken } = priced
  return changed({ ...taken, state, providerId })
}

/**
 * Whether a status is of an attempt that another one has taken the place of, or says again that one failed. What is sent
 * again has the provider's id of the attempt that failed until the next one is taken: that it was sent is old then,
 * unlike that it was delivered after all.
 */
function isOld(send: Send, { state, providerId }: SendStatus, attempts: readonly Attempt[]): boolean {
  if (state !== 'sent' && state !== 'failed') return false
  if (send.failedIds?.includes(providerId) === true) return true
  const isSentAgain = send.state === 'pending' || send.state === 'claimed'
  if (isSentAgain) return send.providerId === providerId
  if (state === 'sent' || send.providerId === undefined || send.providerId === providerId) return false
  const mayHaveTaken = ({ step, outcome }: Attempt) => step === send.id && outcome === 'uncertain'
  return send.failedIds !== undefined || attempts.some(mayHaveTaken)
}

/** True if it may be retried. A message that ended with unmade sends stays over; a person's thread gets none. */
function isRetriable({ state, ending, takenOver, open, sends }: MessageRecord): boolean {
  if (ending !== undefined || takenOver !== undefined || state === 'dead') return false
  return open === true || nextToSend(sends) === undefined
}

function failedSend(
  send: Send,
  { providerId, at, failure }: SendStatus,
  { tries, mayRetry, now }: { tries: number; mayRetry: boolean; now: number },
): { failed: Send; attempt: Attempt } {
  const outcome: NonNullable<SendStatus['failure']> = failure ?? UNEXPLAINED
  const { code, fault, reason, error } = outcome
  const settled = settleFailure({ outcome, tries, reports: true, uncertainWindow: 0 })
  const isRetried = mayRetry && settled.kind !== 'dead'
  const failedIds = [...(send.failedIds ?? []), providerId].slice(-MAX_FAILED_IDS)
  const said = settled.kind === 'dead' ? settled.reason : reason
  return {
    failed: {
      ...{ ...send, state: 'failed', providerId, failedIds, failure: { code, fault, reason: said } },
      ...(isRetried && { tries: tries + 1, retryAt: new Date(now + settled.delay) }),
    },
    attempt: {
      ...{ at, step: send.id, outcome: isRetried ? 'retryable' : 'permanent', code },
      ...{ ms: 0, ...defined({ error }) },
    },
  }
}

const UNEXPLAINED = {
  kind: 'permanent',
  code: 'reported_failed',
  fault: 'provider',
  reason: 'The provider says that it failed.',
} as const satisfies Outcome

function withPricing(send: Send, { pricing, providerId }: SendStatus): Send {
  if (pricing === undefined || send.pricing?.providerId === providerId) return send
  return { ...send, pricing: { ...pricing, providerId } }
}
