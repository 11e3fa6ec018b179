import { defined } from '@parley/shared/defined'
import type { mongo } from 'mongoose'
import type { MessageRecord } from '../message/message-record.ts'
import { SILENT } from '../message/received-content.ts'
import { ofThread, type ThreadName, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import type { Lease } from '../store/lease-store.ts'
import { type Activity, activityOf, campaignOf, excerptOf } from './activity.ts'

/** A message may be written that much later than it ended, while the database is slow. */
const MARGIN_MS = 5_000
const MAX_MESSAGES = 50_000
const RECENT = 20
const QUERY_MS = 30_000

/**
 * The threads of a partition in which something happened that its last owner may not have written: those of its open
 * messages that were written since, and of the messages that have ended since, which the index of retention finds.
 */
export async function unwrittenThreads(
  { messages, partitions }: Pick<Collections, 'messages' | 'partitions'>,
  { partition }: Pick<Lease, 'partition'>,
): Promise<ThreadName[]> {
  const written = (await partitions.findOne({ _id: partition }))?.threads
  if (written === undefined) return []
  const since = written.until.getTime() - MARGIN_MS
  const found = new Map<string, ThreadName>()
  const add = async (filter: mongo.Filter<MessageRecord>) => {
    const cursor = messages
      .find({ partition, ...filter }, { maxTimeMS: QUERY_MS })
      .project<Pick<MessageRecord, 'workspace' | 'channel' | 'thread'>>({
        workspace: 1,
        channel: 1,
        thread: 1,
      })
      .limit(MAX_MESSAGES)
    for await (const { workspace, channel, thread } of cursor) {
      const name = { workspace, channel, extId: thread }
      found.set(threadId(name), name)
    }
  }
  await add({ open: true, updatedAt: { $gte: new Date(since) } })
  await add({ expiresAt: { $gte: new Date(since + written.retentionMs) } })
  return [...found.values()]
}

/** Returns the contribution of a thread's last messages; undefined where it has none. */
export async function latestOf(
  messages: Collections['messages'],
  { workspace, channel, ...thread }: ThreadName & { joined?: readonly string[] | undefined },
): Promise<
  { activity: Activity; lastInboundAt: Date | undefined; joined: string[] | undefined } | undefined
> {
  const recent = await messages
    .find(
      { workspace, thread: ofThread(thread), channel, reason: { $nin: SILENT } },
      { maxTimeMS: QUERY_MS, projection: { turns: 0, answer: 0 } },
    )
    .sort({ receivedAt: -1, _id: -1 })
    .limit(RECENT)
    .toArray()
  const [latest] = recent.map(excerptOf).sort((a, b) => b.at.getTime() - a.at.getTime())
  if (latest === undefined) return undefined
  const lastInboundAt = recent.find(({ inbound }) => inbound === true)?.receivedAt
  const named = recent.find(({ names }) => names !== undefined)
  const joined = recent.find((record) => record.joined !== undefined)?.joined
  const campaign = recent.map(campaignOf).find((one) => one !== undefined)
  const activity = { ...activityOf(latest, named && excerptOf(named)), ...defined({ campaign }) }
  return { activity, lastInboundAt, joined }
}
