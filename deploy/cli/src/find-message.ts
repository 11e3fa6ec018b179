import type { MessageSummary, Parley } from '@parley/client'
import type { QueryOf } from '@parley/client/parley'
import { ParleyError } from '@parley/client/parley-error'
import { isProviderId } from '@parley/shared/providers/registry'

type Query = QueryOf<'/rest/messages'>

const PHONE = /^\+?[\d\s().-]{5,30}$/
const MAX_FOUND = 10

/**
 * The latest messages that a text means, at most 10: a message id, one at
 * the provider, a phone number, a thread or a request id.
 */
export async function findMessages(parley: Parley, text: string): Promise<MessageSummary[]> {
  const one = text.includes('/') ? undefined : await byId(parley, text)
  if (one !== undefined) return [one]
  const queries: Query[] = [
    ...(isProviderId(text) ? [{ providerId: text }] : []),
    ...(PHONE.test(text) ? [{ phone: text }] : []),
    ...[{ thread: text }, { requestId: text }, { providerId: text }],
  ]
  for (const query of queries) {
    const found = await some(parley, query)
    if (found.length > 0) return found
  }
  return []
}

async function byId(parley: Parley, id: string): Promise<MessageSummary | undefined> {
  try {
    return await parley.messages.get(id)
  } catch (error) {
    if (error instanceof ParleyError && error.status === 404) return undefined
    throw error
  }
}

async function some(parley: Parley, query: Query): Promise<MessageSummary[]> {
  const found: MessageSummary[] = []
  for await (const message of parley.messages.list({ ...query, limit: MAX_FOUND })) {
    if (found.push(message) === MAX_FOUND) break
  }
  return found
}
