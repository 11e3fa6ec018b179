import type { ThreadName } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import { latestOf } from './recover-written.ts'
import { countUnread, writeThreads } from './write-threads.ts'

const RECENT = 50
const QUERY_MS = 5_000

/** Writes threads whose documents are not there (yet) from their messages; without `channel`, on every recent one. */
export async function writeFromMessages(
  { threads, messages }: Pick<Collections, 'threads' | 'messages'>,
  options: { workspace: number; names: Array<{ extId: string; channel?: string }>; retentionMs: number },
): Promise<void> {
  const { workspace, names, retentionMs } = options
  for (const { extId, channel } of names) {
    const found = await messages
      .find(
        { workspace, thread: extId, ...(channel === undefined ? {} : { channel }) },
        { maxTimeMS: QUERY_MS },
      )
      .project<{ channel: string }>({ channel: 1 })
      .sort({ receivedAt: -1, _id: -1 })
      .limit(RECENT)
      .toArray()
    for (const one of new Set(found.map((message) => message.channel)))
      await writeOne({ threads, messages }, { workspace, channel: one, extId }, retentionMs)
  }
}

async function writeOne(
  collections: Pick<Collections, 'threads' | 'messages'>,
  name: ThreadName,
  retentionMs: number,
): Promise<void> {
  const latest = await latestOf(collections.messages, name)
  if (latest === undefined) return
  const expiresAt = new Date(latest.activity.lastAt.getTime() + retentionMs)
  await writeThreads(collections.threads, [{ ...name, ...latest, expiresAt }])
  await countUnread(collections, name)
}
