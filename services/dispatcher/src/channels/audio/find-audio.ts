import type { MessageRecord } from '../../message/message-record.ts'

/** Where a message's audio is. */
type AudioPlace =
  /** In the message itself, as the text that came in. */
  | { kind: 'inline'; text: string }
  /** With the webhook service, under the message's id, because it is large. */
  | { kind: 'kept' }
  /** With Meta, under an id of theirs. */
  | { kind: 'media'; mediaId: string }

const MEDIA_ID = /^[\w-]{1,128}$/

/** Finds a message's audio; undefined when it has none. What only Meta can say counts only when it comes from Meta. */
export function findAudio({ body, source }: Pick<MessageRecord, 'body' | 'source'>): AudioPlace | undefined {
  const message = JSON.parse(body) as {
    audio?: unknown
    audioRef?: unknown
    meta?: { audio?: { id?: unknown } }
  }
  if (typeof message.audio === 'string' && message.audio !== '')
    return { kind: 'inline', text: message.audio }
  if (typeof message.audioRef === 'object' && message.audioRef !== null) return { kind: 'kept' }
  const mediaId = source === 'meta' ? message.meta?.audio?.id : undefined
  return typeof mediaId === 'string' && MEDIA_ID.test(mediaId) ? { kind: 'media', mediaId } : undefined
}
