import type { MessageEvent } from '@parley/shared/event-types'
import type { MessageRecord, TimelineEntry } from '../message/message-record.ts'
import { isRunAgain } from '../message/progress.ts'

/** Something that happened to a record. */
export interface RecordEvent {
  /** Unique within the record, and the same whenever it is derived again. */
  key: string
  type: string
  at: Date
  /** When it was stored, at the latest, in milliseconds since the epoch: providers have clocks of their own. */
  storedBy: number
}

const PASSED = ['sent', 'delivered', 'read'] as const

/**
 * The events that a message entails as it stands, in order. Every state that it has passed has one, also those that its
 * timeline leaves out because a later one came at the same moment: what was read was delivered and sent. Each run of a
 * message that is run again has events of its own.
 */
export function eventsOfMessage(
  record: Pick<MessageRecord, 'timeline' | 'receivedAt' | 'updatedAt'>,
): RecordEvent[] {
  const { timeline, receivedAt, updatedAt } = record
  const events: RecordEvent[] = [
    { key: 'received', type: 'message.received', at: receivedAt, storedBy: receivedAt.getTime() },
  ]
  let run = 0
  let passed = 0
  for (const [position, entry] of timeline.entries()) {
    if (isRunAgain(entry)) {
      run = entry.at.getTime()
      passed = 0
    }
    const isLast = position === timeline.length - 1
    const storedBy = Math.max(entry.at.getTime(), isLast ? updatedAt.getTime() : 0)
    const add = (state: 'sent' | 'delivered' | 'read' | 'failed' | 'dead') => {
      const type: MessageEvent = `message.${state}`
      events.push({ key: `${state}:${run}`, type, at: entry.at, storedBy })
    }
    for (; passed < rankOf(entry); passed++) add(PASSED[passed] ?? 'read')
    if (entry.state === 'failed' || entry.state === 'dead') add(entry.state)
  }
  return events
}

/** How many of the states that follow each other a message has passed with this one. */
function rankOf({ state }: TimelineEntry): number {
  return (PASSED as readonly string[]).indexOf(state) + 1
}
