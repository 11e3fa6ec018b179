import type { MessageState, Send, SendState } from './message-record.ts'

const RANK: Record<SendState, number> = { pending: 0, claimed: 1, sent: 2, failed: 3, delivered: 4, read: 5 }

/**
 * The later of two states: statuses move forward only, whatever order they come in. What was delivered did not
 * fail, whatever a late status says; a later status may say that what failed was delivered.
 */
export function later(left: SendState | undefined, right: SendState): SendState {
  return left !== undefined && RANK[left] > RANK[right] ? left : right
}

/**
 * The state of a message whose sends are all settled: as far as the least of those to the person; `failed` when one
 * failed. Where nothing went to the person, calls are `delivered`, and what was only submitted is `done`.
 */
export function stateOfSends(sends: Send[]): 'sent' | 'delivered' | 'read' | 'failed' | 'done' {
  const calls = sends.filter(({ content }) => content.kind !== 'submit')
  if (calls.length === 0) return 'done'
  const personal = calls.filter(({ content }) => content.kind !== 'function' && content.kind !== 'tool')
  if (personal.length === 0) return 'delivered'
  if (personal.some(({ state }) => state === 'failed')) return 'failed'
  const least = Math.min(...personal.map(({ state }) => RANK[state]))
  if (least >= RANK.read) return 'read'
  return least >= RANK.delivered ? 'delivered' : 'sent'
}

/** True if the provider has taken a send, or has reported its outcome. */
export function isSettled(send: Pick<Send, 'state'> | undefined): boolean {
  return send !== undefined && RANK[send.state] >= RANK.sent
}

/** Where a send stands for people: what has not left of a message that was given up does not leave by itself any more. */
export function shownState(
  { state: messageState }: { state: MessageState },
  send: Pick<Send, 'state'>,
): SendState {
  return messageState === 'dead' && !isSettled(send) ? 'failed' : send.state
}
