import type { WebhookMessage } from '@parley/shared/message'
import type { ReceivedMedia } from '@parley/shared/providers/inbound'
import type { StoredMedia } from '@parley/shared/providers/outbound'
import { isJsonObject, own } from '@parley/shared/providers/own'
import { allProviders } from '@parley/shared/providers/registry'
import type { MessageRecord } from '../../message/message-record.ts'
import { receivedContent } from '../../message/received-content.ts'

/** Where a message's media are. */
export type MediaPlace =
  /** In the message itself, as the text that came in. */
  | { kind: 'inline'; type: 'audio'; text: string }
  /** With the webhook service, under the message's id, because it is large. */
  | { kind: 'kept'; type: 'audio' }
  /** With the provider, or what has no bytes, as the provider has it. */
  | ReceivedMedia

/** Finds a message's media; undefined when it has none. */
export const findMedia = ({ body, source }: Pick<MessageRecord, 'body' | 'source'>): MediaPlace | undefined =>
  mediaIn(JSON.parse(body) as WebhookMessage, source)

/** The media of a message that is parsed. What only a provider can say counts only when it comes from there. */
export function mediaIn(message: WebhookMessage, source: string): MediaPlace | undefined {
  if (typeof message.audio === 'string' && message.audio !== '')
    return { kind: 'inline', type: 'audio', text: message.audio }
  if (typeof message.audioRef === 'object' && message.audioRef !== null)
    return { kind: 'kept', type: 'audio' }
  return receivedContent(message, source)?.media
}

/** The first file of a message's answer that its provider has; `source` is that of what comes from the provider. */
export function findSentMedia({
  body,
}: Pick<MessageRecord, 'body'>): (StoredMedia & { source: string }) | undefined {
  const { answer } = JSON.parse(body) as Partial<WebhookMessage>
  for (const { args } of answer?.functions ?? [])
    for (const { name, outbound, inbound } of allProviders()) {
      const object = own(args, name)
      const media = isJsonObject(object) ? outbound.objects?.mediaIn(object) : undefined
      if (media !== undefined && inbound !== undefined) return { ...media, source: inbound.source }
    }
  return undefined
}

/** Finds a message's audio; undefined when it has none, or its writer has taken it back. */
export function findAudio(
  record: Parameters<typeof findMedia>[0] & Pick<MessageRecord, 'changed'>,
): MediaPlace | undefined {
  const place = record.changed?.isDeleted ? undefined : findMedia(record)
  return place?.type === 'audio' ? place : undefined
}
