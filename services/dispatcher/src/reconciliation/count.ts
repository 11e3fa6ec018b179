import { defined } from '@parley/shared/defined'
import type { mongo } from 'mongoose'
import type { MessageState } from '../message/message-record.ts'
import type { Place, RemovedHour } from '../store/audit-records.ts'
import { type Collections, STATE_INDEX } from '../store/collections.ts'
import { GRACE_MS, lostBefore } from './trace-missing.ts'

const QUERY_MS = 10_000
const MAX_ROWS = 5_000

/** A number of messages of one channel or one hour that have one thing in common. */
export interface Count {
  /** A channel's external id, or the beginning of an hour (milliseconds since the epoch). */
  key: string | number
  /** Where the audit found them, or what state the store has them in. Lost ones are missing beyond their time. */
  what: Place | 'lost' | MessageState
  count: number
}

/** What is counted: one workspace, and of that a channel or the hours from `from` to before `to`. */
export interface Counted {
  workspace: number
  channel?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

export type By = 'channel' | 'hour'

/**
 * Counts a workspace's messages by channel or by hour, all at one moment: what the audit has found, what the store
 * holds, and what was removed. At most 5,000 rows each, the greatest keys first.
 */
export async function countMessages(
  { audited, messages, removed }: Pick<Collections, 'audited' | 'messages' | 'removed'>,
  options: { counted: Counted; by: By; session: mongo.ClientSession; now: number },
): Promise<Count[]> {
  const { counted, by, session, now } = options
  const limits = { session, maxTimeMS: QUERY_MS }
  const key = by === 'channel' ? '$channel' : '$hour'
  const hours = matchOf(counted, 'hour')
  const ends = [{ $sort: { _id: -1 as const } }, { $limit: MAX_ROWS }]
  // One after another: a session is one conversation.
  const places = await audited
    .aggregate<Group>([{ $match: hours }, groupBy(key, '$place'), ...ends], limits)
    .toArray()
  const lost = await audited
    .aggregate<Group>(
      [{ $match: { $and: [hours, lostBefore(now, GRACE_MS)] } }, groupBy(key, 'lost'), ...ends],
      limits,
    )
    .toArray()
  const stored = by === 'channel' ? key : { $dateTrunc: { date: '$receivedAt', unit: 'hour' } }
  const states = await messages
    .aggregate<Group>([{ $match: matchOf(counted, 'receivedAt') }, groupBy(stored, '$state'), ...ends], {
      ...limits,
      hint: STATE_INDEX,
    })
    .toArray()
  const gone = await removed.find(hours, { ...limits, limit: MAX_ROWS, sort: { hour: -1 } }).toArray()
  return [...[...places, ...lost, ...states].map(countOf), ...gone.flatMap((hour) => countsOf(hour, by))]
}

interface Group {
  _id: { key: string | Date; what: Count['what'] }
  count: number
}

function groupBy(key: unknown, what: string) {
  return {
    $group: { _id: { key, what: what.startsWith('$') ? what : { $literal: what } }, count: { $sum: 1 } },
  }
}

function matchOf({ workspace, channel, from, to }: Counted, field: 'hour' | 'receivedAt'): object {
  const range = {
    ...(from === undefined ? {} : { $gte: from }),
    ...(to === undefined ? {} : { $lt: to }),
  }
  return {
    workspace,
    ...defined({ channel }),
    ...(Object.keys(range).length === 0 ? {} : { [field]: range }),
  }
}

function countOf({ _id, count }: Group): Count {
  return { key: _id.key instanceof Date ? _id.key.getTime() : _id.key, what: _id.what, count }
}

function countsOf({ channel, hour, places, states }: RemovedHour, by: By): Count[] {
  const key = by === 'channel' ? channel : hour.getTime()
  const { missing, ...found } = places ?? {}
  // What was missing when its time was over is lost.
  const all = { ...found, ...states, ...(missing === undefined ? {} : { missing, lost: missing }) }
  return Object.entries(all).map(([what, count]) => ({ key, what: what as Count['what'], count }))
}
