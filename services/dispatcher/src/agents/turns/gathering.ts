import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { MessageRecord } from '../../message/message-record.ts'
import { hasAnswer } from '../../message/plan.ts'
import type { Collections } from '../../store/collections.ts'

/** Of one answer, at most. */
export const MAX_GATHERED = 50
/** All together wait at most this many times as long as one. */
const MAX_WAITS = 3
/** Of a thread, in one millisecond. */
const SAME_MOMENT = 20
const QUERY_MS = 5_000

/** The role of a message that may be one of several. */
export type Gathering =
  /** It is the last of them, or alone: it gets the answer. */
  | { kind: 'work'; isAlone: boolean }
  /** More may come (milliseconds since the epoch). */
  | { kind: 'wait'; until: number }
  | { kind: 'gathered'; into: string }

/** A message behind the first one of its thread. */
export interface Follower {
  _id: string
  receivedAt: number
  /** True if it needs the agent too: any other message ends the gathering. */
  needsAgent: boolean
}

/** Looks whether a message is one of several that get one answer. Rejects when the database is unavailable. */
export type Gather = (record: MessageRecord, options: { gatherMs: number; now: number }) => Promise<Gathering>

/** All from the store: whoever takes the thread over comes to the same. */
export function createGather({ messages }: Pick<Collections, 'messages'>): Gather {
  return async (record, { gatherMs, now }) => {
    const into = await messageThatGathers(messages, record)
    if (into === record._id) return { kind: 'work', isAlone: false }
    const followers = await followersOf(messages, record)
    // The one that was to answer is not there any more where it was erased meanwhile.
    if (followers.some(({ _id }) => _id === into)) return { kind: 'gathered', into: String(into) }
    return gatheringOf(
      { _id: record._id, receivedAt: record.receivedAt.getTime() },
      { followers, gatherMs, now },
    )
  }
}

const ALONE: Gathering = { kind: 'work', isAlone: true }

/** Decides for the first of several: it waits until none has come for `gatherMs`, and is then answered with the last. */
export function gatheringOf(
  first: { _id: string; receivedAt: number },
  { followers, gatherMs, now }: { followers: Follower[]; gatherMs: number; now: number },
): Gathering {
  const latest = first.receivedAt + MAX_WAITS * gatherMs
  let last = first
  for (const follower of followers) {
    const isInTime = follower.receivedAt <= Math.min(last.receivedAt + gatherMs, latest)
    if (!follower.needsAgent || !isInTime) {
      return last._id === first._id ? ALONE : { kind: 'gathered', into: last._id }
    }
    last = follower
  }
  const until = Math.min(last.receivedAt + gatherMs, latest)
  if (now < until && followers.length < MAX_GATHERED) return { kind: 'wait', until }
  return last._id === first._id ? ALONE : { kind: 'gathered', into: last._id }
}

/** The message that the one before this was gathered into: it decided for all of them. */
async function messageThatGathers(
  messages: Collections['messages'],
  { workspace, thread, receivedAt, order }: MessageRecord,
): Promise<string | undefined> {
  const before = await messages
    .find(
      { workspace, thread, receivedAt: { $lte: receivedAt }, order: { $lt: order } },
      { maxTimeMS: QUERY_MS },
    )
    .project<Pick<MessageRecord, 'gatheredInto' | 'order' | 'inbound'>>({
      gatheredInto: 1,
      order: 1,
      inbound: 1,
    })
    .sort({ receivedAt: -1, _id: -1 })
    .limit(SAME_MOMENT)
    .toArray()
  // The index says nothing of the sequence of what came in the same millisecond.
  const spoken = before.filter(({ inbound }) => inbound === true)
  return spoken.sort((a, b) => b.order - a.order)[0]?.gatheredInto
}

async function followersOf(
  messages: Collections['messages'],
  { partition, workspace, thread, order, channel }: MessageRecord,
): Promise<Follower[]> {
  const found = await messages
    .find(
      { partition, workspace, thread, lane: { $exists: false }, open: true, order: { $gt: order } },
      { maxTimeMS: QUERY_MS },
    )
    .project<Pick<MessageRecord, '_id' | 'receivedAt' | 'channel' | 'state' | 'body'>>({
      receivedAt: 1,
      channel: 1,
      state: 1,
      body: 1,
    })
    .sort({ order: 1 })
    .limit(MAX_GATHERED)
    .toArray()
  return found.map((one) => ({
    _id: one._id,
    receivedAt: one.receivedAt.getTime(),
    needsAgent: one.channel === channel && one.state === 'received' && !needsNoAgent(one.body),
  }))
}

function needsNoAgent(body: string): boolean {
  const message = jsonOrUndefined(body) as WebhookMessage | undefined
  return message === undefined || hasAnswer(message.answer)
}
