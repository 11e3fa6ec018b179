import { channelNumber } from '@parley/shared/channel-settings'
import { pause } from '@parley/shared/every'
import { FairSlots } from '@parley/shared/fair-slots'
import type { WebhookMessage } from '@parley/shared/message'
import { derivedMessageId } from '@parley/shared/messaging/message-publication'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { Nature, ReceivedContent } from '@parley/shared/providers/inbound'
import type { Channels } from '../channels/channels.ts'
import { nameContact } from '../conversations/name-contact.ts'
import { giveToPerson, untilNothingLeaves } from '../conversations/take-over.ts'
import type { ThreadLog } from '../conversations/thread-log.ts'
import type { MessageRecord } from '../message/message-record.ts'
import { ended } from '../message/progress.ts'
import { receivedContent, type UnspokenReason, unspokenReason } from '../message/received-content.ts'
import { ofThread, threadId } from '../message/thread-record.ts'
import type { Collections } from '../store/collections.ts'
import { statusWriter } from '../store/commit.ts'
import { partitionsOfThread } from '../store/layout-record.ts'

/** How long what changes a message waits for it: the provider may send them in any sequence. */
const ORIGINAL_MS = 10_000
const LOOK_AGAIN_MS = 100
/**
 * More do not wait at once: each takes a place among what a partition may have in flight. One workspace alone has ten.
 */
const WAITING = { of: 'changes of messages', total: 20, spare: 1 }
const QUERY_MS = 5_000
const WRITER = statusWriter('changes')

type Arriving = Omit<MessageRecord, 'order'>

/** Something that arrives at a partition and is no speech. */
export interface Unspoken {
  record: Arriving
  content: ReceivedContent
}

/** The operations of the partition on its threads. */
interface PartitionThreads {
  /** True while this instance is the one to work the partition. */
  isActive(): boolean
  /** Stores what runs unstored of a thread. */
  storeThread(thread: Arriving): Promise<unknown>
  /** Something has changed the open messages of a thread in the store. */
  interrupt(thread: Pick<MessageRecord, 'workspace' | 'thread' | 'lane'>): void
}

/**
 * What becomes of messages that are no speech: they take effect at once, whatever their thread waits for, and then they
 * are stored with their end. All of it may be done again.
 */
export interface NonSpeech {
  /**
   * Before anything that came later runs: what the business wrote in its own app gives the thread to a person. False
   * where it is to be worked as speech, which a channel may have for reactions. Rejects when the database is unavailable.
   */
  begin(unspoken: Unspoken, threads: PartitionThreads): Promise<boolean>
  /**
   * Changes what it changes, and resolves with the message as it is to be stored, once nothing may leave any more that it
   * stops. Rejects when the database is unavailable, or the partition is not ours any more.
   */
  settle(unspoken: Unspoken, threads: PartitionThreads): Promise<Arriving>
}

interface NonSpeechOptions {
  collections: Pick<Collections, 'messages' | 'threads' | 'layouts'>
  channels: Pick<Channels, 'find'>
  threadLog: Pick<ThreadLog, 'touch'>
  retentionMs: number
  /** How long what changes a message waits for it, in milliseconds; 10 s unless said otherwise. */
  originalMs?: number
}

export function createNonSpeech(options: NonSpeechOptions): NonSpeech {
  const { originalMs = ORIGINAL_MS } = options
  const slots = new FairSlots(WAITING)
  const waitForOriginal = async (
    { workspace }: Arriving,
    { isActive }: PartitionThreads,
    since: number,
  ): Promise<boolean> => {
    const release = performance.now() - since > originalMs ? undefined : slots.take([workspace])
    if (release === undefined) return false
    await pause(LOOK_AGAIN_MS)
    release()
    if (!isActive()) throw new Error('left to the next owner of the lease')
    return true
  }
  const change = async (unspoken: Unspoken, nature: Change, threads: PartitionThreads) => {
    const since = performance.now()
    do {
      await threads.storeThread(unspoken.record)
      const found = await changeOriginal(options, unspoken, nature, threads)
      if (found !== undefined) return found
    } while (await waitForOriginal(unspoken.record, threads, since))
    return false
  }
  return {
    async begin({ record, content }, threads) {
      const reason = unspokenReason(content)
      if (reason === 'reaction') return !(await isForHandler(options, record))
      if (reason === 'app_message') await stepAside(options, { record, content }, threads)
      return true
    },
    async settle(unspoken, threads) {
      const { record, content } = unspoken
      const { nature } = content
      const reason = unspokenReason(content) ?? 'notice'
      if (!content.isPast && (nature?.kind === 'edit' || nature?.kind === 'deletion')) {
        const isChanged = await change(unspoken, nature, threads)
        return endedAs(options, unspoken, isChanged ? reason : 'original_unknown')
      }
      if (reason === 'app_message') {
        await untilNothingLeaves(options.collections, await placeOf(options, record))
        if (await isOwnSend(options, unspoken)) return endedAs(options, unspoken, 'own_send')
      }
      if (nature?.kind === 'contact') await name(options, record, nature)
      return endedAs(options, unspoken, reason)
    },
  }
}

type Change = Extract<Nature, { kind: 'edit' | 'deletion' }>

/** A channel that can't be read now has nobody answer. */
async function isForHandler(
  { channels }: NonSpeechOptions,
  { workspace, channel }: Arriving,
): Promise<boolean> {
  const found = await channels.find(workspace, channel).catch(() => undefined)
  return found?.config.answerReactions === true
}

async function stepAside(
  options: NonSpeechOptions,
  unspoken: Unspoken,
  { interrupt }: PartitionThreads,
): Promise<void> {
  const { collections, channels } = options
  const { record } = unspoken
  const { _id, workspace, channel } = record
  const isRepeated = (await collections.messages.findOne({ _id }, { projection: { _id: 1 } })) !== null
  if (isRepeated || (await isOwnSend(options, unspoken))) return
  const found = await channels.find(workspace, channel).catch(() => undefined)
  const minutes = channelNumber(found?.config ?? {}, 'echoTakeOverMinutes')
  const until = minutes === 0 ? {} : { until: new Date(Date.now() + minutes * 60_000) }
  const place = await placeOf(options, record)
  const marked = await giveToPerson(collections, place, { given: { by: 'person' }, ...until })
  for (const one of marked) interrupt(one)
}

async function placeOf(
  { collections, retentionMs }: NonSpeechOptions,
  { workspace, channel, thread: extId, joined = [], partition }: Arriving,
) {
  const found = await partitionsOfThread(collections.layouts, { workspace, extId, joined })
  const partitions = [...new Set([partition, ...found])]
  return { workspace, channel, extId, joined, partitions, retentionMs }
}

/** True if it is a send of ours, which the provider reports like anything else that the business wrote. */
async function isOwnSend(
  { collections }: NonSpeechOptions,
  { record: { workspace, channel }, content: { providerId } }: Unspoken,
): Promise<boolean> {
  if (providerId === undefined) return false
  const sent = { workspace, channel, 'sends.providerId': providerId }
  return (await collections.messages.findOne(sent, { projection: { _id: 1 }, maxTimeMS: QUERY_MS })) !== null
}

/**
 * Changes a message of the same thread and the same writer, unless it was changed later already; what came in stays. It is
 * written like a provider's status: whoever works the message takes the change over. Undefined where it is not there.
 */
async function changeOriginal(
  { collections: { messages, threads }, threadLog }: NonSpeechOptions,
  { record, content }: Unspoken,
  nature: Change,
  { interrupt }: PartitionThreads,
): Promise<boolean | undefined> {
  const { source, workspace, channel, thread: extId, joined, receivedAt } = record
  const thread = ofThread({ extId, joined })
  const _id = derivedMessageId({ source, workspace, channel, id: nature.of })
  const original = await messages.findOne({ _id, workspace, channel, thread }, { maxTimeMS: QUERY_MS })
  if (original === null) return undefined
  if (isOwn(original) !== (content.isOwn === true)) return false
  const at = content.writtenAt ?? receivedAt
  const made = nature.kind === 'deletion' ? { isDeleted: true as const } : { text: nature.text }
  const changed = { by: record._id, at, ...made }
  const isLater =
    nature.kind === 'deletion' ? {} : { $or: [{ changed: NONE }, { 'changed.at': { $lte: at } }] }
  const after = await messages.findOneAndUpdate(
    { _id, 'changed.isDeleted': NONE, ...isLater },
    { $set: { changed, writer: WRITER }, $inc: { revision: 1 } },
    { returnDocument: 'after', maxTimeMS: QUERY_MS },
  )
  // A summary says what the message said before.
  await threads.updateOne(
    { _id: threadId({ workspace, channel, extId }), 'summary.until': { $gte: original.receivedAt } },
    { $unset: { summary: '' } },
  )
  if (after === null) return true
  threadLog.touch(after)
  if (after.open === true) interrupt(after)
  return true
}

const NONE = { $exists: false }

function isOwn({ body, source }: MessageRecord): boolean {
  const message = jsonOrUndefined(body) as WebhookMessage | undefined
  return message !== undefined && receivedContent(message, source)?.isOwn === true
}

async function name(
  { collections, retentionMs }: NonSpeechOptions,
  { workspace, channel, thread: extId }: Arriving,
  { name }: Extract<Nature, { kind: 'contact' }>,
): Promise<void> {
  await nameContact(collections, { workspace, channel, extId }, { name, retentionMs })
}

/** Returns the message with its end. A past message keeps the time at which it was written, and is read in its place. */
function endedAs(
  { retentionMs }: NonSpeechOptions,
  { record, content }: Unspoken,
  reason: UnspokenReason,
): Arriving {
  const at = Date.now()
  const end = { state: 'done' as const, reason }
  const writtenAt = content.isPast ? content.writtenAt : undefined
  const receivedAt = writtenAt !== undefined && writtenAt < record.receivedAt ? writtenAt : record.receivedAt
  const progress = ended(record, { end, at, retentionMs })
  return { ...record, open: undefined, receivedAt, updatedAt: new Date(at), ...progress }
}
