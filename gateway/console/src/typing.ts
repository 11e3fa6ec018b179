import { call } from './api.ts'
import { markSent, markTyped } from './presence.ts'

/** Providers show it a little longer. */
const EVERY_MS = 20_000
/** The conversation that somebody typed in last, and when its person was last shown that. */
let last: { thread: string; at: number } | undefined

/** Shows the person and the team that somebody is typing a reply. One that can't be shown is missed by nobody. */
export function showTyping(thread: string): void {
  markTyped(thread)
  const now = Date.now()
  if (last?.thread === thread && now - last.at < EVERY_MS) return
  last = { thread, at: now }
  void call('POST', `/rest/threads/${thread}/typing`).catch(() => undefined)
}

/** Ends the typing of a reply: the next typed text belongs to another reply. */
export function endTyping(): void {
  markSent()
  last = undefined
}
