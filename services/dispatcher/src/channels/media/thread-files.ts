import { Problem } from '@parley/shared/problem'
import type { MessageRecord } from '../../message/message-record.ts'
import { ofThread } from '../../message/thread-record.ts'
import type { Collections } from '../../store/collections.ts'
import { findMedia } from './find-media.ts'
import { fileName } from './media-bytes.ts'
import { type MediaSources, readMedia } from './read-media.ts'

/** The latest messages of a thread that are looked at. */
const LOOKED_AT = 100
/** A larger body has the media in it. */
const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 3_000
/** In a process: each file has 16 MiB in memory, twice. */
const MAX_AT_ONCE = 4

type Found = Pick<
  MessageRecord,
  '_id' | 'channel' | 'workspace' | 'source' | 'changed' | 'order' | 'partition'
> & {
  body: string | null
}

/**
 * Reads a file that the person sent in the thread of a message, up to that: 1 is the latest. 16 MiB at most, until the
 * signal. Throws `not_found` where there is none, and as {@link readMedia}; `unavailable` while 4 others are read.
 */
export type ReadThreadFile = (
  file: { messageId: string; position: number },
  signal: AbortSignal,
) => Promise<{ bytes: Buffer; contentType: string; fileName: string }>

export function createReadThreadFile(
  { messages }: Pick<Collections, 'messages'>,
  sources: MediaSources,
): ReadThreadFile {
  let reading = 0
  const filesOf = async (messageId: string): Promise<Found[]> => {
    const record = await messages.findOne({ _id: messageId })
    if (record === null) return []
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
  return async ({ messageId, position }, signal) => {
    if (reading >= MAX_AT_ONCE) throw new Problem('unavailable', { detail: 'Too many files are being read.' })
    reading++
    try {
      const one = (await filesOf(messageId))[position - 1]
      if (one === undefined)
        throw new Problem('not_found', {
          detail: `The person sent no file that is the ${position}. from the latest.`,
        })
      const record = { ...one, body: String(one.body) }
      const media = await readMedia(record, sources, (fetch) => fetch(signal))
      if (media.kind !== 'bytes') throw new Problem('not_found', { detail: 'It is no file.' })
      return { ...media, fileName: fileName(one._id, media.contentType, media.fileName) }
    } finally {
      reading--
    }
  }
}

const READ = {
  ...{ channel: 1, workspace: 1, source: 1, changed: 1, order: 1, partition: 1 },
  body: { $cond: [{ $lte: [{ $strLenBytes: '$body' }, MAX_BODY_BYTES] }, '$body', null] },
}

/** What has bytes, and was not taken back. */
function isFile({ body, source, changed }: Found): boolean {
  if (body === null || changed?.isDeleted === true) return false
  const media = findMedia({ body, source })
  return media !== undefined && media.kind !== 'content'
}
