import type { MessageRecord, Progress, Send, SendState } from '../message/message-record.ts'
import { nextToSend, withEntry } from '../message/progress.ts'
import { later, stateOfSends } from '../message/send-state.ts'

/** A status of one send, from the provider. */
export interface SendStatus {
  /** The send's position in its message. */
  index: number
  state: Extract<SendState, 'sent' | 'delivered' | 'read' | 'failed'>
  providerId: string
  at: Date
  /** Why it failed, in the provider's words. */
  reason?: string
}

/**
 * A message's progress after statuses of its sends, or undefined when they say nothing new. Statuses move forward
 * only. For a message still in the pipeline, a status of an uncertain send settles it: it is no longer waited for.
 */
export function applyStatuses(record: MessageRecord, statuses: SendStatus[]): Progress | undefined {
  const sends = statuses.reduce(withStatus, record.sends)
  if (sends === record.sends) return undefined
  const { state, tries, timeline, attempts, open, answer, reason, fault, expiresAt, due } = record
  const optional = { answer, reason, fault, expiresAt, due }
  const defined = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  const progress: Progress = { state, tries, timeline, attempts, sends, ...defined }
  if (open === true) {
    const { due: _due, ...now } = progress
    return { ...now, open }
  }
  return { ...progress, ...endedAs({ record, sends, statuses }) }
}

/** What an ended message's state becomes. A dead message leaves that state when all of its sends turn out to have been taken. */
function endedAs(options: {
  record: MessageRecord
  sends: Send[]
  statuses: SendStatus[]
}): Partial<Progress> {
  const { record, sends, statuses } = options
  if (nextToSend(sends) !== undefined || record.ending !== undefined) return {}
  const state = stateOfSends(sends)
  if (state === record.state) return {}
  const last = statuses.at(-1)
  const reason = state === 'failed' ? { reason: last?.reason ?? 'The provider says that it failed.' } : {}
  const fault = state === 'failed' ? { fault: 'provider' as const } : {}
  const entry = { at: last?.at ?? record.updatedAt, state, ...reason }
  return { state, ...reason, ...fault, timeline: withEntry(record.timeline, entry) }
}

function withStatus(sends: Send[], { index, state, providerId }: SendStatus): Send[] {
  const send = sends[index]
  if (send === undefined || later(send.state, state) === send.state) return sends
  return sends.map((one) => (one === send ? { ...one, state, providerId } : one))
}
