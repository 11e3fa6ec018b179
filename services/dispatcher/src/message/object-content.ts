import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { parseJson } from '@parley/shared/parse-json'
import { providerNamed } from '@parley/shared/providers/registry'
import type { ObjectContent, SendContent } from './message-record.ts'

/**
 * The object of a provider's own that a send is; undefined where it is something else. In records of an earlier version
 * its kind is the name of the provider.
 */
export function objectIn(content: SendContent): ObjectContent | undefined {
  if (content.kind === 'object') return content
  const { kind: provider, type, position } = content as { kind: string; type: string; position: number }
  return providerNamed(provider) && { kind: 'object', provider, type, position }
}

/** The object itself; undefined where it is in an answer that is not the message's. */
export function objectOf(
  { object, provider, position }: ObjectContent,
  message: Partial<Pick<WebhookMessage, 'answer'>> | undefined,
): JsonObject | undefined {
  if (object !== undefined) return parseJson(object) as JsonObject
  return message?.answer?.functions?.[position ?? -1]?.args?.[provider] as JsonObject | undefined
}
