import type { MessageRecord } from '../../message/message-record.ts'

/** What Meta has the bytes of. */
const BYTES = ['audio', 'image', 'video', 'document', 'sticker'] as const
/** What is in the message itself. */
const CONTENTS = ['location', 'contacts', 'interactive', 'button', 'reaction', 'order'] as const
type MediaType = (typeof BYTES)[number]

/** Where a message's media are. */
export type MediaPlace =
  /** In the message itself, as the text that came in. */
  | { kind: 'inline'; type: 'audio'; text: string }
  /** With the webhook service, under the message's id, because it is large. */
  | { kind: 'kept'; type: 'audio' }
  /** With Meta, under an id of theirs; the person's name of the file, where it has one. */
  | { kind: 'media'; type: MediaType; mediaId: string; fileName?: string }
  /** No bytes, but what the message says, as Meta has it. */
  | { kind: 'content'; type: (typeof CONTENTS)[number]; content: unknown }

const MEDIA_ID = /^[\w-]{1,128}$/

/** Finds a message's media; undefined when it has none. What only Meta can say counts only when it comes from Meta. */
export function findMedia({ body, source }: Pick<MessageRecord, 'body' | 'source'>): MediaPlace | undefined {
  const message = JSON.parse(body) as { audio?: unknown; audioRef?: unknown; meta?: unknown }
  if (typeof message.audio === 'string' && message.audio !== '')
    return { kind: 'inline', type: 'audio', text: message.audio }
  if (typeof message.audioRef === 'object' && message.audioRef !== null)
    return { kind: 'kept', type: 'audio' }
  return source === 'meta' ? metaMedia(message.meta) : undefined
}

/** Finds a message's audio; undefined when it has none. */
export function findAudio(record: Parameters<typeof findMedia>[0]): MediaPlace | undefined {
  const place = findMedia(record)
  return place?.type === 'audio' ? place : undefined
}

/** The media of a message as Meta has it. */
export function metaMedia(meta: unknown): Extract<MediaPlace, { kind: 'media' | 'content' }> | undefined {
  if (typeof meta !== 'object' || meta === null) return undefined
  const message = meta as Record<string, unknown>
  for (const type of BYTES) {
    const { id, filename } = (message[type] ?? {}) as { id?: unknown; filename?: unknown }
    if (typeof id !== 'string' || !MEDIA_ID.test(id)) continue
    return { kind: 'media', type, mediaId: id, ...(typeof filename === 'string' && { fileName: filename }) }
  }
  const type = CONTENTS.find((one) => typeof message[one] === 'object' && message[one] !== null)
  return type === undefined ? undefined : { kind: 'content', type, content: message[type] }
}
