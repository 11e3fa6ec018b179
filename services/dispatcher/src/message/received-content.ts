import type { WebhookMessage } from '@parley/shared/message'
import type { Nature, ReceivedContent } from '@parley/shared/providers/inbound'
import { providerOfSource } from '@parley/shared/providers/registry'

/** Returns the provider's data beside the text of the person; undefined for messages that come from no provider. */
export function receivedContent(message: WebhookMessage, source: string): ReceivedContent | undefined {
  return providerOfSource(source)?.inbound?.contentOf(message)
}

/** True if a message came through a provider, on a number of its own. */
export const isFromProvider = ({ source }: { source: string }): boolean =>
  providerOfSource(source) !== undefined

/** How something ends that is no speech: it is stored with its end. */
export type UnspokenReason =
  | Exclude<Nature['kind'], 'speech'>
  /** The business wrote it, in the provider's own app. */
  | 'app_message'
  /** It was written before the channel was connected. */
  | 'history'
  /** The provider reports a send of ours as if it were the app's. */
  | 'own_send'
  /** It changes a message that is not there, or is not its writer's. */
  | 'original_unknown'

/** Why something from a provider is stored with its end, and asks nobody; undefined for what somebody says. */
export function unspokenReason({
  nature,
  isOwn,
  isPast,
}: Pick<ReceivedContent, 'nature' | 'isOwn' | 'isPast'>): UnspokenReason | undefined {
  const kind = nature?.kind ?? 'speech'
  if (isPast) return 'history'
  if (kind === 'edit' || kind === 'deletion' || kind === 'contact') return kind
  if (isOwn) return 'app_message'
  return kind === 'speech' ? undefined : kind
}

/** Those that say nothing of their own in a conversation. */
export const SILENT: string[] = [
  'edit',
  'deletion',
  'contact',
  'own_send',
  'original_unknown',
] satisfies UnspokenReason[]

/** True if a message is not read as one, but by the change that it has made. */
export const isSilent = ({ reason }: { reason?: string | undefined }): boolean =>
  reason !== undefined && SILENT.includes(reason)
