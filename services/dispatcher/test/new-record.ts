import type { MessageRecord } from '../src/message/message-record.ts'

/** A message as it is stored on arrival, but for what a test wants otherwise. */
export function newRecord(change: Partial<MessageRecord> = {}): MessageRecord {
  const at = new Date('2026-01-01T00:00:00Z')
  return {
    _id: 'm',
    workspace: 1,
    partition: 0,
    thread: 't',
    order: 1,
    revision: 0,
    channel: 'c',
    source: 'api',
    state: 'received',
    open: true,
    tries: 0,
    receivedAt: at,
    updatedAt: at,
    body: '{}',
    sends: [],
    timeline: [],
    attempts: [],
    ...change,
  }
}
