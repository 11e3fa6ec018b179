import { defined } from '@parley/shared/defined'
import type { mongo } from 'mongoose'
import { MESSAGE_STATES, type MessageState } from '../message/message-record.ts'
import type { Place, RemovedHour } from '../store/audit-records.ts'
import { type Collections, STATE_INDEX } from '../store/collections.ts'
import { GRACE_MS, lostBefore } from './trace-missing.ts'

const LOST_QUERY_MS = 2_000
const MAX_MISSING = 10_000
const MAX_LOST = 1_000
const QUERY_MS = 10_000
const MAX_KEYS = 5_000

/** A number of messages of one channel or one hour that have one thing in common. */
interface Count {
  /** A channel's external id, or the beginning of an hour (milliseconds since the epoch). */
  key: string | number
  /** Where the audit found them, or what state the store has them in. Lost ones are missing beyond their time. */
  what: Place | 'lost' | MessageState
  count: number
}

/** The scope of a count: one workspace, and of that a channel or the hours from `from` to before `to`. */
interface CountScope {
  workspace: number
  channel?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

type By = 'channel' | 'hour'

/**
 * Counts a workspace's messages by channel or by hour, all at one moment: what the audit has found, what the store
 * has, and what was removed: of the greatest keys, at most 5,000. Of a key there is all or nothing.
 */
export async function countMessages(
  { audited, messages, removed }: Pick<Collections, 'audited' | 'messages' | 'removed'>,
  options: { counted: CountScope; by: By; session: mongo.ClientSession; now: number },
): Promise<Count[]> {
  const { counted, by, session, now } = options
  const limits = { session, maxTimeMS: QUERY_MS }
  const key = by === 'channel' ? '$channel' : '$hour'
  const hours = matchOf(counted, 'hour')
  // One after another: a session is one conversation.
  const places = await audited
    .aggregate<CountedGroup>([{ $match: hours }, ...groupBy(key, '$place')], limits)
    .toArray()
  const lost = await audited
    .aggregate<CountedGroup>(
      [{ $match: { $and: [hours, lostBefore(now, GRACE_MS)] } }, ...groupBy(key, 'lost')],
      limits,
    )
    .toArray()
  const stored = by === 'channel' ? key : { $dateTrunc: { date: '$receivedAt', unit: 'hour' } }
  const states = await messages
    .aggregate<CountedGroup>([{ $match: matchOf(counted, 'receivedAt') }, ...groupBy(stored, '$state')], {
      ...limits,
      hint: STATE_INDEX,
    })
    .toArray()
  const gone = await removed.find(hours, { ...limits, limit: MAX_KEYS, sort: { hour: -1 } }).toArray()
  return [...wholeKeys([places, lost, states]), ...gone.flatMap((hour) => countsOf(hour, by))]
}

interface CountedGroup {
  _id: string | Date
  counts: Pick<Count, 'what' | 'count'>[]
}

function groupBy(key: unknown, what: string) {
  return [
    { $group: { _id: { key, what: what.startsWith('$') ? what : { $literal: what } }, count: { $sum: 1 } } },
    { $group: { _id: '$_id.key', counts: { $push: { what: '$_id.what', count: '$count' } } } },
    { $sort: { _id: -1 as const } },
    { $limit: MAX_KEYS },
  ]
}

/** The counts of those keys that no list was cut above: half of what there is of one would look like a difference. */
export function wholeKeys(lists: CountedGroup[][], most = MAX_KEYS): Count[] {
  const cuts = lists.flatMap((list) => (list.length < most ? [] : (list.at(-1)?._id ?? [])))
  return lists.flat().flatMap(({ _id, counts }) => {
    if (cuts.some((cut) => _id < cut)) return []
    const key = _id instanceof Date ? _id.getTime() : _id
    return counts.map((one) => ({ key, ...one }))
  })
}

function matchOf({ workspace, channel, from, to }: CountScope, field: 'hour' | 'receivedAt'): object {
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

function countsOf({ channel, hour, places, states }: RemovedHour, by: By): Count[] {
  const key = by === 'channel' ? channel : hour.getTime()
  const { missing, ...found } = places ?? {}
  // A message that was still missing when its hour was removed is lost.
  const all = { ...found, ...states, ...(missing === undefined ? {} : { missing, lost: missing }) }
  return Object.entries(all).map(([what, count]) => ({ key, what: what as Count['what'], count }))
}

/** The accepted messages against their outcomes. */
export interface Balance {
  /** Different ids, whether the audit has come to them yet or not. */
  accepted: number
  done: number
  sent: number
  delivered: number
  read: number
  failed: number
  dead: number
  unrouted: number
  rejected: number
  inFlight: number
  /** Accepted less all that is above; anything but 0 is a fault. */
  difference: number
  /** Of the accepted ones those that are stored, but were not seen in the log (yet). */
  unaudited: number
}

const ENDS = ['done', 'sent', 'delivered', 'read', 'failed', 'dead', 'unrouted'] as const

/**
 * Adds up counts. An id of the log that is in the store counts by its state there; one that is nowhere is in flight
 * until its time is over, then it is missing from the sum, as is one that the store has lost.
 */
export function balance(counts: Pick<Count, 'what' | 'count'>[]): Balance {
  const sum = (what: Count['what']) =>
    counts.reduce((total, one) => total + (one.what === what ? one.count : 0), 0)
  const ends = Object.fromEntries(ENDS.map((state) => [state, sum(state)])) as Pick<
    Balance,
    (typeof ENDS)[number]
  >
  const stored = MESSAGE_STATES.reduce((total, state) => total + sum(state), 0)
  const audited = sum('stored') + sum('erased')
  const working = sum('received') + sum('handled') + sum('sending')
  const unaudited = Math.max(0, stored - audited)
  const vanished = Math.max(0, audited - stored)
  return {
    accepted: audited + unaudited + sum('rejected') + sum('missing'),
    ...ends,
    rejected: sum('rejected'),
    inFlight: working + sum('missing') - sum('lost'),
    difference: sum('lost') + vanished,
    unaudited,
  }
}

/** One balance for each channel or hour, in the order of their keys. */
export function balances(counts: Count[]): Array<Balance & { key: Count['key'] }> {
  return [...Map.groupBy(counts, ({ key }) => key)]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, ofKey]) => ({ key, ...balance(ofKey) }))
}

/** The sum of balances. */
export function total(balances: Balance[]): Balance {
  const zero = balance([])
  const fields = Object.keys(zero) as (keyof Balance)[]
  const sum = (field: keyof Balance) => balances.reduce((before, one) => before + one[field], 0)
  return Object.fromEntries(fields.map((field) => [field, sum(field)])) as unknown as Balance
}

/**
 * How many accepted messages of a workspace are nowhere, 1,000 at most, among the 10,000 that have been looked for
 * longest.
 */
export async function countLostMessages(
  audited: Collections['audited'],
  { workspace, now }: { workspace: number; now: number },
): Promise<number> {
  const [found] = await audited
    .aggregate<{ lost: number }>(
      [
        { $match: { workspace, place: 'missing' } },
        { $sort: { hour: 1 } },
        { $limit: MAX_MISSING },
        { $match: lostBefore(now) },
        { $limit: MAX_LOST },
        { $count: 'lost' },
      ],
      { maxTimeMS: LOST_QUERY_MS },
    )
    .toArray()
  return found?.lost ?? 0
}
