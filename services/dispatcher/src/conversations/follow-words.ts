import { insertNew } from '@parley/shared/insert-new'
import type { Log } from '@parley/shared/log'
import { type Relay, startRelay } from '@parley/shared/relay/relay'
import type { mongo } from 'mongoose'
import type { MessageRecord, MessageWords } from '../message/message-record.ts'
import { SAID_FIELDS, type SaidMessage, saidTexts } from '../message/said-texts.ts'
import { messageWords, phoneEnds } from '../message/search-words.ts'
import { type ThreadRecord, threadId } from '../message/thread-record.ts'
import { type Collections, OPEN_INDEX, RETENTION_INDEX } from '../store/collections.ts'
import type { EventCollections } from '../store/event-collections.ts'

/** With 500 at once, the messages that came meanwhile waited for 150 ms. */
const BATCH = 50
/** Each batch is six statements, and nobody searches for what was said a moment ago. */
const GATHER_MS = 250
/** So that it takes an eighth of the time at most, as long as there is more to do. */
const PAUSE_SHARE = 7
const QUERY_MS = 30_000
/** Longer than a message is open: once it has ended, its retention counts. */
const OPEN_MS = 400 * 24 * 60 * 60 * 1_000

/** Writes that may change the words of a message: it came, went or ended, or its writer or its transcript changed it. */
const WRITES: mongo.Document = {
  'ns.coll': 'messages',
  $or: [
    { operationType: { $in: ['insert', 'replace', 'delete'] } },
    {
      operationType: 'update',
      $or: ['changed', 'transcript', 'expiresAt'].map((field) => ({
        [`updateDescription.updatedFields.${field}`]: { $exists: true },
      })),
    },
  ],
}

interface Write {
  /** The message's. */
  _id: string
  at?: Date | undefined
}

type Indexed = Pick<Collections, 'messages' | 'messageWords'>

/**
 * Writes the words of messages behind the messages, in one instance at a time and in batches of up to 50, between which
 * others have the machine. Where its position is not known, as in a database of an earlier version or where somebody has
 * deleted it, all of them are written anew, the latest first; the ends of phone numbers as well, where threads have none yet.
 */
export function followWords(options: {
  collections: Indexed & Pick<Collections, 'threads'> & Pick<EventCollections, 'relays'>
  ready: Promise<unknown>
  db(): mongo.Db
  log: Log
}): Relay {
  const { collections, ready, db, log } = options
  return startRelay<Write>({
    ...{ name: 'words', log, ready, db },
    relays: () => collections.relays,
    ...{ gatherMs: GATHER_MS, batch: BATCH, pauseShare: PAUSE_SHARE },
    stages: [{ $match: WRITES }, { $project: { documentKey: 1, wallTime: 1 } }],
    changeOf: ({ documentKey, wallTime }) => ({ _id: String(documentKey._id), at: wallTime }),
    snapshot: () => everyMessage(collections),
    handle: (writes) => writeWords(collections, [...new Set(writes.map(({ _id }) => _id))]),
  })
}

/** Empties the index and yields every message: messages erased while nobody followed are not known any more. */
async function* everyMessage({
  messages,
  messageWords,
  threads,
}: Indexed & Pick<Collections, 'threads'>): AsyncGenerator<Write[]> {
  await messageWords.deleteMany({})
  await addPhoneEnds(threads)
  const idAlone = { projection: { _id: 1 } } as const
  const open = messages.find({ open: true }, idAlone).hint(OPEN_INDEX)
  const ended = messages
    .find({ expiresAt: { $gt: new Date(0) } }, idAlone)
    .hint(RETENTION_INDEX)
    .sort({ expiresAt: -1, _id: -1 })
  yield* inBatches(open)
  yield* inBatches(ended)
}

async function* inBatches<T>(found: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const one of found) {
    batch.push(one)
    if (batch.length < BATCH) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Threads that an earlier version wrote last have none. */
async function addPhoneEnds(threads: Collections['threads']): Promise<void> {
  const found = threads
    .find({ addresses: { $exists: true }, phoneEnds: { $exists: false } })
    .project<Pick<ThreadRecord, '_id' | 'addresses'>>({ addresses: 1 })
  for await (const batch of inBatches(found)) {
    const changes = batch.flatMap(({ _id, addresses = [] }) => {
      const ends = phoneEnds(addresses)
      return ends.length === 0
        ? []
        : [{ updateOne: { filter: { _id }, update: { $set: { phoneEnds: ends } } } }]
    })
    if (changes.length > 0) await threads.bulkWrite(changes, { ordered: false })
  }
}

type Read = SaidMessage & Pick<MessageRecord, 'workspace' | 'channel' | 'thread' | 'receivedAt' | 'expiresAt'>

/** Writes the words of some messages as they now read; of those that are gone, or say nothing, there are none. */
async function writeWords({ messages, messageWords }: Indexed, ids: string[]): Promise<void> {
  const _id = { $in: ids }
  const fields = { ...SAID_FIELDS, workspace: 1, channel: 1, thread: 1, receivedAt: 1, expiresAt: 1 }
  const [read, stored] = await Promise.all([
    messages.aggregate<Read>([{ $match: { _id } }, { $project: fields }], { maxTimeMS: QUERY_MS }).toArray(),
    messageWords.find({ _id }, { maxTimeMS: QUERY_MS }).toArray(),
  ])
  const known = new Map(stored.map((one) => [one._id, one]))
  const entries = new Map(read.flatMap(entryOf).map((one) => [one._id, one]))
  const isNew = ({ _id }: MessageWords) => !known.has(_id)
  // Another instance may have written some of them meanwhile.
  const taken = await insertNew(messageWords, [...entries.values()].filter(isNew))
  const changed = [...entries.values()].filter((one) => !isNew(one) && !isSame(one, known.get(one._id)))
  const gone = stored.filter((one) => !entries.has(one._id)).map((one) => one._id)
  const writes = [
    ...[...changed, ...taken].map((one) => ({ replaceOne: { filter: { _id: one._id }, replacement: one } })),
    ...(gone.length === 0 ? [] : [{ deleteMany: { filter: { _id: { $in: gone } } } }]),
  ]
  if (writes.length > 0) await messageWords.bulkWrite(writes, { ordered: false })
}

function entryOf({
  workspace,
  channel,
  thread: extId,
  receivedAt: at,
  expiresAt,
  ...said
}: Read): MessageWords[] {
  const words = messageWords(saidTexts(said))
  if (words.length === 0) return []
  const until = expiresAt ?? new Date(at.getTime() + OPEN_MS)
  const thread = threadId({ workspace, channel, extId })
  return [{ _id: said._id, workspace, thread, at, words, expiresAt: until }]
}

const isSame = (one: MessageWords, other: MessageWords | undefined): boolean =>
  one.expiresAt.getTime() === other?.expiresAt.getTime() && one.words.join(' ') === other.words.join(' ')
