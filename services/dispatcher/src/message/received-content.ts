import type { WebhookMessage } from '@parley/shared/message'
import type { ReceivedContent } from '@parley/shared/providers/inbound'
import { providerOfSource } from '@parley/shared/providers/registry'

/** What a message has beside what its person wrote, as its provider says; undefined for what comes from no provider. */
export function receivedContent(message: WebhookMessage, source: string): ReceivedContent | undefined {
  return providerOfSource(source)?.inbound?.contentOf(message)
}

/** Whether a provider brought a message, on a number of its own. */
export const isFromProvider = ({ source }: { source: string }): boolean =>
  providerOfSource(source) !== undefined
