import { defined } from '@parley/shared/defined'
import { cursorOf, encodeCursor, pageLimit, parameterError } from '@parley/shared/list-query'
import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import { providerNamed } from '@parley/shared/providers/registry'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Quoted, ReadQuoted } from '../../conversations/quoted-messages.ts'
import { currentMessage } from '../../message/current-message.ts'
import { type MessageRecord, REPLY_SOURCE, type Send } from '../../message/message-record.ts'
import { objectIn, objectOf } from '../../message/object-content.ts'
import { isSilent, receivedContent } from '../../message/received-content.ts'
import { isReported } from '../../message/said-texts.ts'
import { shownState } from '../../message/send-state.ts'
import { endingAtWord } from '../../message/split-text.ts'
import { isPersonal, mediaOf, sentAt } from '../../message/spoken-text.ts'
import { ofThread, type ThreadRecord } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { channelQuery } from './list-threads.ts'

const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

/** Which part of a conversation is read: its end, or what comes before or after a position. */
export const conversationQuery = z.object({
  ...channelQuery.shape,
  limit: pageLimit.describe('Of how many messages at a time'),
  before: cursorOf(position).optional().describe('The `previous` of a page: what is older'),
  after: cursorOf(position)
    .optional()
    .describe('The `next` of a page: what is newer, also what has come since'),
})
type Asked = z.output<typeof conversationQuery>

const QUERY_MS = 5_000
const BATCH = 20
/** A larger body has media in it; what it says is in the message itself. */
const MAX_BODY_BYTES = 256 * 1024
const MAX_TEXT = 16 * 1024

type Conversation = Pick<ThreadRecord, 'workspace' | 'channel' | 'extId' | 'joined'> & { workspace: number }

type Spoken = Pick<
  MessageRecord,
  | '_id'
  | 'receivedAt'
  | 'updatedAt'
  | 'source'
  | 'state'
  | 'open'
  | 'inbound'
  | 'transcript'
  | 'sends'
  | 'attempts'
  | 'reason'
  | 'changed'
> & { body: string | null }

/** A message that was read, with what it and its sends reply or react to. */
interface Read {
  spoken: Spoken
  message: WebhookMessage | undefined
  content: ReceivedContent | undefined
  quotes: ReadonlyMap<string, Quoted>
}

/**
 * A page of a conversation as people read it, oldest first: the last `limit` messages, or those before or after a
 * position. `previous` leads to what is older, `next` to what is newer and what is yet to come. Throws
 * `validation_failed` for both directions at once.
 */
export async function readConversation(
  { messages, readQuoted }: Pick<Collections, 'messages'> & { readQuoted: ReadQuoted },
  thread: Conversation,
  asked: Asked,
): Promise<{ data: object[]; previous: string | null; next: string | null }> {
  if (asked.before !== undefined && asked.after !== undefined)
    throw parameterError('after', 'is not given together with before', 'contradiction')
  const isForward = asked.after !== undefined
  const found: Position[] = []
  const read: Read[] = []
  for await (const spoken of spokenMessages(messages, thread, { ...asked, isForward })) {
    found.push([spoken.receivedAt.getTime(), spoken._id])
    if (found.length <= asked.limit) read.push(readMessage(spoken))
  }
  const data = (await withQuotes(readQuoted, thread, read)).map(entriesOf)
  const hasMore = found.length > asked.limit
  const page = found.slice(0, asked.limit)
  const [first = asked.after ?? asked.before, last = first] = isForward
    ? [page[0], page.at(-1)]
    : [page.at(-1), page[0]]
  return {
    data: (isForward ? data : data.reverse()).flat(),
    previous: (isForward || hasMore) && first !== undefined ? encodeCursor(first) : null,
    next: last === undefined ? null : encodeCursor(last),
  }
}

type Position = z.output<typeof position>

function spokenMessages(
  messages: Collections['messages'],
  { workspace, channel, ...thread }: Conversation,
  { before, after, limit, isForward }: Asked & { isForward: boolean },
) {
  const direction = isForward ? 1 : -1
  const beyond = before === undefined && after === undefined ? {} : beyondOf(after ?? before, isForward)
  return messages.aggregate<Spoken>(
    [
      { $match: { $and: [{ workspace, thread: ofThread(thread) }, beyond], channel } },
      { $sort: { receivedAt: direction, _id: direction } },
      { $limit: limit + 1 },
      {
        $project: {
          receivedAt: 1,
          updatedAt: 1,
          source: 1,
          state: 1,
          open: 1,
          inbound: 1,
          transcript: 1,
          sends: 1,
          attempts: 1,
          reason: 1,
          changed: 1,
          body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
        },
      },
    ],
    { batchSize: BATCH, maxTimeMS: QUERY_MS },
  )
}

function beyondOf(given: Position | undefined, isForward: boolean): mongo.Filter<MessageRecord> {
  const [at = 0, _id = ''] = given ?? []
  const receivedAt = new Date(at)
  const than = isForward ? '$gt' : '$lt'
  // The first is implied by the second, which the database can't begin at.
  return {
    receivedAt: { [`${than}e`]: receivedAt },
    $or: [{ receivedAt: { [than]: receivedAt } }, { _id: { [than]: _id } }],
  }
}

function readMessage(spoken: Spoken): Read {
  const message =
    spoken.body === null ? undefined : (jsonOrUndefined(spoken.body) as WebhookMessage | undefined)
  const content = message && receivedContent(message, spoken.source)
  return { spoken, message, content, quotes: new Map() }
}

/** All of a page together. */
async function withQuotes(
  readQuoted: ReadQuoted,
  { workspace, channel, extId: thread, joined }: Conversation,
  read: Read[],
): Promise<Read[]> {
  const quoting = read.flatMap(quotedIn)
  const [first] = quoting
  if (first === undefined) return read
  const ids = quoting.map(({ id }) => id)
  const quotes = await readQuoted({ workspace, channel, thread, joined, source: first.source }, ids)
  return read.map((one) => ({ ...one, quotes }))
}

/** Returns the messages that a message and its sends reply to: the provider's ids, and the source of its messages. */
function quotedIn({ spoken, message, content }: Read): { id: string; source: string }[] {
  const { repliesTo: id } = content ?? {}
  const sent = spoken.sends.flatMap((send) => {
    const { id: sentTo, provider } = quotedBySend(send, message)
    const source = providerNamed(provider)?.inbound?.source
    return sentTo === undefined || source === undefined ? [] : [{ id: sentTo, source }]
  })
  return id === undefined ? sent : [{ id, source: spoken.source }, ...sent]
}

function quotedBySend({ content }: Send, message: WebhookMessage | undefined) {
  const object = objectIn(content)
  const sent = object && objectOf(object, message)
  if (object === undefined || sent === undefined) return {}
  const { provider } = object
  const rules = providerNamed(provider)?.outbound.objects
  return { id: rules?.quotedIn(sent), reaction: rules?.reactionIn?.(sent), provider }
}

/** Returns the entries of one message: the person's, then those to the person. */
function entriesOf(read: Read): object[] {
  const { spoken } = read
  const sent = spoken.sends.filter((send) => isPersonal(send) && isReported(spoken, send))
  return [...received(read), ...sent.map((send) => toPerson(read, send))]
}

/** Returns the received entry: from the person, from the business in a provider's app, or a notice of the provider. */
function received({ spoken, message: given, content, quotes }: Read): object[] {
  const { _id, receivedAt: at, source, transcript, state, reason, changed } = spoken
  const { nature } = content ?? {}
  if (isSilent(spoken) || nature?.kind === 'edit' || nature?.kind === 'deletion') return []
  const entry = { _id, message: _id, at }
  if (nature?.kind === 'notice') return [{ ...entry, from: 'provider', text: nature.shown, state, reason }]
  const message = given && currentMessage(given, changed)
  const text = message?.input || undefined
  const media = message && mediaOf(message, source)
  const isDeleted = changed?.isDeleted
  const isEmpty = text === undefined && media === undefined && transcript === undefined
  if (isEmpty && !isDeleted && spoken.inbound !== true) return []
  const isEdited = changed?.text === undefined ? undefined : true
  const said = defined({
    ...(content?.isOwn ? { through: 'app' } : {}),
    ...(content?.isOfGroup ? { name: given?.user.name ?? undefined } : {}),
    text: text && shown(text),
    reaction: nature?.kind === 'reaction' ? (text ?? '') : undefined,
    transcript: isDeleted ? undefined : transcript,
    media,
    quoted: quotes.get(content?.repliesTo ?? ''),
    edited: isEdited,
    deleted: isDeleted,
    reason,
  })
  return [{ ...entry, from: content?.isOwn ? 'team' : 'person', ...said, state }]
}

function toPerson({ spoken, message, quotes }: Read, send: Send): object {
  const { _id, source, inbound } = spoken
  const from =
    source === REPLY_SOURCE ? 'team' : inbound === true || send.of !== undefined ? 'assistant' : 'api'
  const { by } = (message?.reply ?? {}) as { by?: object }
  const at = send.state === 'pending' ? spoken.receivedAt : sentAt(spoken, send)
  const said = contentOf(send, message)
  const { id, reaction } = quotedBySend(send, message)
  const state = shownState(spoken, send)
  const reason = state === 'failed' ? (send.failure?.reason ?? spoken.reason) : undefined
  return {
    _id: send.id,
    message: _id,
    at,
    from,
    ...defined({ by: from === 'team' ? by : undefined }),
    ...said,
    ...defined({ quoted: quotes.get(id ?? ''), reaction }),
    state,
    ...defined({ reason }),
  }
}

function contentOf({ content }: Send, message: WebhookMessage | undefined): object {
  if (content.kind === 'text') return { text: shown(content.text) }
  const object = objectIn(content)
  if (object !== undefined) {
    return { [object.provider]: objectOf(object, message) ?? { type: object.type } }
  }
  if (content.kind !== 'template') return {}
  const { template, language, variables, more } = content
  return { template, language, variables, ...defined({ more: more && jsonOrUndefined(more) }) }
}

function shown(text: string): string {
  return text.length <= MAX_TEXT ? text : `${endingAtWord(text, MAX_TEXT - 1)}…`
}
