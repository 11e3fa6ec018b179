import type { ModelCall } from './provider-models.ts'

type Messages = ModelCall['prompt']

const MARK = { anthropic: { cacheControl: { type: 'ephemeral' as const } } }

/**
 * The messages with marks for Anthropic, which caches up to a mark and nothing without one; the other providers do so by
 * themselves. The system text and the tools before it, and the conversation before the facts of the moment, are the same
 * for the next message; all of it is for the next turn, where tools may be called.
 */
export function withCacheMarks(messages: Messages, { mayCall }: { mayCall: boolean }): Messages {
  const facts = messages.findLastIndex((message) => isData(message))
  const marked = new Set([0, facts - 1, ...(mayCall ? [messages.length - 1] : [])])
  return messages.map((message, position) =>
    marked.has(position) ? { ...message, providerOptions: MARK } : message,
  )
}

function isData({ role, content }: Messages[number]): boolean {
  const [first] = role === 'user' ? content : []
  return first?.type === 'text' && first.text.startsWith('<data>\n')
}
