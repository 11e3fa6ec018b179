import type { MessageRecord, MessageState, SendState } from './message-record.ts'
import { withEntry } from './progress.ts'

/** What `type` says on the broker of the request to run a message again. */
export const REPLAY_TYPE = 'message.replay.v1'

/** The states from which a message may be run again. */
export const REPLAYABLE = ['dead', 'failed', 'unrouted'] as const satisfies MessageState[]

export const isReplayable = ({ state, open }: Pick<MessageRecord, 'state' | 'open'>): boolean =>
  open !== true && (REPLAYABLE as readonly MessageState[]).includes(state)

const RUN_AGAIN = 'It is run again.'

/** When a message was last run again, in milliseconds since the epoch; 0 for never. */
export function ranAgainAt({ timeline }: Pick<MessageRecord, 'timeline'>): number {
  const entry = timeline.findLast(({ state, reason }) => state === 'received' && reason === RUN_AGAIN)
  return entry?.at.getTime() ?? 0
}

const DONE: SendState[] = ['sent', 'delivered', 'read']

/**
 * A message that is to run again, at a new place in its partition. It goes on at the first send that did not get
 * there; what did is not sent again. Where nothing was planned yet, it is handled anew.
 */
export function replayed(record: MessageRecord, { at, order }: { at: Date; order: number }): MessageRecord {
  const { reason: _reason, fault: _fault, due: _due, waitingFor: _for, expiresAt: _at, ...rest } = record
  const entry = { at, state: 'received' as const, reason: RUN_AGAIN }
  return {
    ...rest,
    state: record.sends.length > 0 ? 'handled' : 'received',
    open: true,
    order,
    tries: 0,
    revision: record.revision + 1,
    updatedAt: at,
    sends: record.sends.map((send) => (DONE.includes(send.state) ? send : { ...send, state: 'pending' })),
    timeline: withEntry(record.timeline, entry),
  }
}
