import { FairSlots } from '@parley/shared/fair-slots'
import { Problem } from '@parley/shared/problem'
import type { MessageRecord } from '../../message/message-record.ts'
import { ofThread } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { untilAborted } from '../http/until-aborted.ts'
import { findMedia } from './find-media.ts'
import { fileName } from './media-bytes.ts'
import { type MediaSources, readMedia } from './read-media.ts'

/** The latest messages of a thread that are looked at. */
const LOOKED_AT = 100
/** A larger body has the media in it. */
const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 3_000
/** In a process: each file has 16 MiB in memory, twice. What is given up is read again. */
const AT_ONCE = { of: 'files', total: 4, protectedMs: 1_000, queue: { total: 128, each: 16, ms: 4_000 } }

type Message = Pick<
  MessageRecord,
  'workspace' | 'channel' | 'thread' | 'joined' | 'receivedAt' | 'partition' | 'order'
>

type Found = Pick<
  MessageRecord,
  '_id' | 'channel' | 'workspace' | 'source' | 'changed' | 'order' | 'partition'
> & {
  body: string | null
}

/**
 * Reads a file that the person sent in the thread of a message, up to that: 1 is the latest. 16 MiB at most, until the
 * signal. Throws `not_found` where there is none, and as {@link readMedia}; `unavailable` or `rate_limited` where other
 * files go first.
 */
export type ReadThreadFile = (
  file: { messageId: string; position: number },
  signal: AbortSignal,
) => Promise<{ bytes: Buffer; contentType: string; fileName: string }>

export function createReadThreadFile(
  { messages }: Pick<Collections, 'messages'>,
  sources: MediaSources,
): ReadThreadFile {
  const slots = new FairSlots(AT_ONCE)
  const filesOf = async (record: Message): Promise<Found[]> => {
    const { workspace, channel, thread: extId, joined, receivedAt } = record
    const found = await messages
      .aggregate<Found>(
        [
          { $match: { workspace, thread: ofThread({ extId, joined }), receivedAt: { $lte: receivedAt } } },
          ...[{ $sort: { receivedAt: -1, _id: -1 } }, { $limit: LOOKED_AT }, { $project: READ }],
        ],
        { maxTimeMS: QUERY_MS },
      )
      .toArray()
    const isUpTo = (one: Found) =>
      one.channel === channel && (one.partition !== record.partition || one.order <= record.order)
    return found.filter((one) => isUpTo(one) && isFile(one))
  }
  const readFile = async (message: Message, position: number, signal: AbortSignal) => {
    const one = (await filesOf(message))[position - 1]
    if (one === undefined) throw noFile(position)
    const record = { ...one, body: String(one.body) }
    const media = await readMedia(record, sources, (fetch) => fetch(signal))
    if (media.kind !== 'bytes') throw new Problem('not_found', { detail: 'It is no file.' })
    return { ...media, fileName: fileName(one._id, media.contentType, media.fileName) }
  }
  return async ({ messageId, position }, signal) => {
    const message = await messages.findOne<Message>(
      { _id: messageId },
      { projection: MESSAGE, maxTimeMS: QUERY_MS },
    )
    if (message === null) throw noFile(position)
    const preempt = new AbortController()
    const release = await slots.enter([message.workspace], () => preempt.abort(PREEMPTED))
    try {
      const ended = AbortSignal.any([signal, preempt.signal])
      return await untilAborted(ended, () => readFile(message, position, ended))
    } finally {
      release()
    }
  }
}

const PREEMPTED = new Problem('unavailable', { detail: 'Files of other workspaces were waiting for this.' })

const noFile = (position: number): Problem =>
  new Problem('not_found', { detail: `The person sent no file that is the ${position}. from the latest.` })

const MESSAGE = { workspace: 1, channel: 1, thread: 1, joined: 1, receivedAt: 1, partition: 1, order: 1 }
const READ = {
  ...{ channel: 1, workspace: 1, source: 1, changed: 1, order: 1, partition: 1 },
  body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
}

/** True if a message has bytes, and was not taken back. */
function isFile({ body, source, changed }: Found): boolean {
  if (body === null || changed?.isDeleted === true) return false
  const media = findMedia({ body, source })
  return media !== undefined && media.kind !== 'content'
}
