import { addressValues, phoneOf } from '../message/addresses.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { ofThread, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'

const QUERY_MS = 5_000

/**
 * Whether a window for free text has closed for the person of a message, as far as is known here: only where
 * a message of theirs on this channel was seen. Rejects when the database is unavailable.
 */
type IsOutsideWindow = (record: MessageRecord, window: { now: number; windowMs: number }) => Promise<boolean>

/** One look at the threads' documents; only what they say to be closed is looked up among the messages. */
export function createIsOutsideWindow({
  threads,
  messages,
}: Pick<Collections, 'threads' | 'messages'>): IsOutsideWindow {
  const lastInbound = async (record: MessageRecord) => {
    const { workspace, channel, thread, joined = [] } = record
    const names = [thread, ...joined, ...addressValues(record)]
    const found = await threads
      .find(
        { _id: { $in: names.map((extId) => threadId({ workspace, channel, extId })) } },
        { maxTimeMS: QUERY_MS },
      )
      .project<{ lastInboundAt?: Date }>({ lastInboundAt: 1 })
      .toArray()
    return Math.max(...found.map(({ lastInboundAt }) => lastInboundAt?.getTime() ?? Number.NEGATIVE_INFINITY))
  }
  const hasInboundSince = async (record: MessageRecord, since: Date) => {
    const { workspace, channel, thread: extId, joined, addresses = [] } = record
    const thread = ofThread({ extId, joined })
    const phone = phoneOf(record)
    const recent = { workspace, channel, inbound: true as const, receivedAt: { $gt: since } }
    const inThread = await messages.findOne(
      { ...recent, thread },
      { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
    )
    const own = [
      ...(addresses.length === 0 ? [] : [{ addresses: { $in: addresses } }]),
      ...(phone === undefined ? [] : [{ phone }]),
    ]
    if (inThread !== null || own.length === 0) return inThread !== null
    const ofPerson = await messages.findOne(
      { $or: own.map((one) => ({ ...recent, ...one })) },
      { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
    )
    return ofPerson !== null
  }
  return async (record, { now, windowMs }) => {
    const since = now - windowMs
    if (record.inbound === true && record.receivedAt.getTime() > since) return false
    const last = await lastInbound(record)
    if (last === Number.NEGATIVE_INFINITY || last > since) return false
    return !(await hasInboundSince(record, new Date(since)))
  }
}
