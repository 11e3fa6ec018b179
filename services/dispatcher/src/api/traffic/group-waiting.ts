import { type MessageRecord, threadKey, type Waiting } from '../../message/message-record.ts'
import { waitingOf } from '../messages/waiting.ts'

/** What of a message says what it waits for: nothing of what is said in it. */
export const WAITING_FIELDS = {
  ...{ workspace: 1, thread: 1, lane: 1, order: 1, channel: 1, open: 1, due: 1, waitingFor: 1, state: 1 },
  ...{ receivedAt: 1, updatedAt: 1, 'sends.state': 1, 'turns.provider': 1 },
} as const

export type WaitingRecord = Pick<
  MessageRecord,
  'workspace' | 'thread' | 'lane' | 'order' | 'channel' | 'open' | 'due' | 'waitingFor' | 'state'
> &
  Pick<MessageRecord, '_id' | 'receivedAt' | 'updatedAt' | 'sends'> & { turns?: object[] }

interface WaitingGroup {
  for: Waiting
  messages: number
  oldest: Pick<MessageRecord, '_id' | 'thread' | 'channel' | 'receivedAt'>
}

/** Messages in flight by what they wait for, the group with the oldest one first. `records` begin with the oldest. */
export function groupWaiting(records: WaitingRecord[]): WaitingGroup[] {
  const heads = headsOf(records)
  const groups = new Map<Waiting, WaitingGroup>()
  for (const record of records) {
    const head = heads.get(threadKey(record))
    const before = head !== record && record.state === 'received' ? head?._id : undefined
    const isWorkedInTurns = record.turns !== undefined
    const waiting = waitingOf({ ...record, attempts: [] }, { isWorkedInTurns, before })
    if (waiting === undefined) continue
    const { _id, thread, channel, receivedAt } = record
    const group = groups.get(waiting.for) ?? {
      for: waiting.for,
      messages: 0,
      oldest: { _id, thread, channel, receivedAt },
    }
    group.messages++
    groups.set(waiting.for, group)
  }
  return [...groups.values()]
}

/** The first message of each thread, by its sequence number. */
function headsOf(records: WaitingRecord[]): Map<string, WaitingRecord> {
  const heads = new Map<string, WaitingRecord>()
  for (const record of records) {
    const head = heads.get(threadKey(record))
    if (head === undefined || record.order < head.order) heads.set(threadKey(record), record)
  }
  return heads
}
