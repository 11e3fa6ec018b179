import type { WebhookMessage } from '@parley/shared/message'
import { derivedMessageId } from '@parley/shared/messaging/message-publication'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { currentMessage } from '../message/current-message.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { receivedContent } from '../message/received-content.ts'
import { isPersonal, textOfContent } from '../message/spoken-text.ts'
import { ofThread, type ThreadRecord } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'

const MAX_TEXT = 500
const MAX_IDS = 400
const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 5_000

/** A message that another one replies or reacts to. */
export interface Quoted {
  /** Of the entry of the conversation: the message, or a send of it. */
  _id: string
  messageId: string
  from: 'person' | 'business'
  /** 500 characters at most. */
  text: string
}

type Of = Pick<MessageRecord, 'workspace' | 'channel' | 'thread' | 'joined' | 'source'>

/**
 * What is quoted in a thread, by the provider's ids: what its person wrote, or was sent to them there. What is not of that
 * thread is not found. Rejects when the database is unavailable.
 */
export type ReadQuoted = (thread: Of, ids: readonly string[]) => Promise<ReadonlyMap<string, Quoted>>

export function createReadQuoted({ messages }: Pick<Collections, 'messages'>): ReadQuoted {
  return async ({ workspace, channel, thread: extId, joined, source }, given) => {
    const ids = [...new Set(given)].slice(0, MAX_IDS)
    if (ids.length === 0) return new Map()
    const received = new Map(ids.map((id) => [derivedMessageId({ source, workspace, channel, id }), id]))
    const or = [{ _id: { $in: [...received.keys()] } }, { 'sends.providerId': { $in: ids } }]
    const found = await messages
      .find({ workspace, channel, thread: ofThread({ extId, joined }), $or: or }, { maxTimeMS: QUERY_MS })
      .project<Found>(FOUND)
      .toArray()
    const sought = new Set(ids)
    return new Map(
      found.flatMap((record) => {
        const id = received.get(record._id)
        return id === undefined ? sentAmong(record, sought) : [[id, writtenIn(record)] as const]
      }),
    )
  }
}

/** Returns the message that one replies or reacts to; undefined where there is none, or it is gone. */
export async function quotedBy(
  readQuoted: ReadQuoted,
  record: Of,
  message: WebhookMessage,
): Promise<Quoted | undefined> {
  const id = receivedContent(message, record.source)?.repliesTo
  return id === undefined ? undefined : (await readQuoted(record, [id])).get(id)
}

/** The provider's id of an entry of a conversation: of what its person wrote, or of a send; undefined where it has none. */
export async function providerIdOf(
  { messages }: Pick<Collections, 'messages'>,
  {
    thread,
    entry,
  }: { thread: Pick<ThreadRecord, 'workspace' | 'channel' | 'extId' | 'joined'>; entry: string },
): Promise<string | undefined> {
  const { workspace, channel, extId, joined } = thread
  // A send is named after its message.
  const [_id] = entry.split(':')
  if (workspace === undefined || _id === undefined) return undefined
  const found = await messages.findOne(
    { _id, workspace, channel, thread: ofThread({ extId, joined }) },
    { projection: { ...FOUND, inbound: 1 }, maxTimeMS: QUERY_MS },
  )
  if (found === null) return undefined
  if (entry !== _id) return found.sends.find(({ id }) => id === entry)?.providerId
  const message = messageIn(found.body)
  return message && receivedContent(message, found.source)?.providerId
}

const FOUND = {
  source: 1,
  changed: 1,
  transcript: 1,
  sends: 1,
  body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
}
type Found = Pick<MessageRecord, '_id' | 'source' | 'changed' | 'transcript' | 'sends'> & {
  body: string | null
}

const messageIn = (body: string | null): WebhookMessage | undefined =>
  body === null ? undefined : (jsonOrUndefined(body) as WebhookMessage | undefined)

function writtenIn({ _id, source, changed, transcript, body }: Found): Quoted {
  const message = messageIn(body)
  const content = message && receivedContent(message, source)
  const from = content?.isOwn ? 'business' : 'person'
  const now = message && currentMessage(message, changed)
  const media = content?.type === undefined ? '' : `[${content.type}]`
  const text = changed?.isDeleted ? '[deleted]' : now?.input || transcript || media
  return { _id, messageId: _id, from, text: shown(text) }
}

function sentAmong({ _id, sends, body }: Found, ids: ReadonlySet<string>): [string, Quoted][] {
  return sends.flatMap((send) => {
    const { providerId = '' } = send
    if (!ids.has(providerId) || !isPersonal(send)) return []
    const text = textOfContent(send.content, () => messageIn(body))
    return [[providerId, { _id: send.id, messageId: _id, from: 'business', text: shown(text) }]]
  })
}

const shown = (text: string): string =>
  text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1).toWellFormed()}…`
