import { searchWords } from '../message/search-words.ts'
import { type ThreadName, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'

const MAX_NAME = 1_024

/**
 * Gives the person of a thread the name that the business has for them, by which it is found from then on, or takes it away.
 * A thread without messages has a document from then on, which no event says.
 */
export async function nameContact(
  { threads }: Pick<Collections, 'threads'>,
  { workspace, channel, extId }: ThreadName,
  { name, retentionMs }: { name: string | undefined; retentionMs: number },
): Promise<void> {
  const _id = threadId({ workspace, channel, extId })
  if (name === undefined) {
    await threads.updateOne({ _id, workspace }, { $unset: { contactName: '', contactWords: '' } })
    return
  }
  const contact = {
    ...{ workspace, channel, extId },
    contactName: name.slice(0, MAX_NAME).toWellFormed(),
    contactWords: searchWords(name),
  }
  const isNew = { user: {}, handler: 'assistant', lastMessage: '', lastAt: new Date(0), unread: 0 }
  const expiresAt = new Date(Date.now() + retentionMs)
  const named = {
    words: { $setUnion: [{ $ifNull: ['$words', []] }, { $literal: contact.contactWords }] },
    expiresAt: { $max: ['$expiresAt', expiresAt] },
  }
  const next = { $mergeObjects: [{ $literal: isNew }, '$$ROOT', { $literal: contact }, named] }
  await threads.updateOne({ _id }, [{ $replaceWith: next }], { upsert: true })
}
