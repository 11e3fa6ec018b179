/** Where the message of a recipient stands, as the message log says it. */
interface MessageStanding {
  state: string
  isOpen: boolean
  /** When it is tried again, in milliseconds since the epoch. */
  due?: number | undefined
}

const SENT_FIRST_MS = 3_000
const SENT_LAST_MS = 60 * 60_000
const OPEN_FIRST_MS = 400
const OPEN_LAST_MS = 15_000
const DEFERRED_LAST_MS = 10 * 60_000
const WATCHED_MS = 3 * 24 * 60 * 60_000
/** A retry that is later than this many milliseconds from now is not waited for. */
const DEFERRED_FROM_MS = 10_000
const FINAL = ['read', 'failed', 'dead', 'done', 'unrouted']

/** How a recipient stands by their message. */
export function recipientStateOf(
  message: MessageStanding | undefined,
  now: number,
): 'posted' | 'deferred' | 'sent' | 'delivered' | 'read' | 'failed' | 'dead' {
  if (message === undefined) return 'posted'
  const { state, isOpen, due } = message
  if (state === 'sent' || state === 'delivered' || state === 'read') return state
  if (isOpen) return due !== undefined && due - now > DEFERRED_FROM_MS ? 'deferred' : 'posted'
  if (state === 'failed') return state
  return FINAL.includes(state) ? 'dead' : 'posted'
}

/**
 * When a recipient's message is looked at again (milliseconds since the epoch), after `checks` looks; undefined once nothing
 * more is expected of it.
 */
export function nextCheck(
  message: MessageStanding | undefined,
  { now, checks, postedAt }: { now: number; checks: number; postedAt: number },
): number | undefined {
  const grown = (first: number, last: number) => now + Math.min(last, first * 2 ** Math.min(checks, 30))
  if (message === undefined) return grown(OPEN_FIRST_MS, OPEN_LAST_MS)
  const { state, isOpen, due = now } = message
  if (isOpen && due - now > DEFERRED_FROM_MS) return Math.min(due, now + DEFERRED_LAST_MS)
  if (isOpen) return grown(OPEN_FIRST_MS, OPEN_LAST_MS)
  if (FINAL.includes(state) || now - postedAt > WATCHED_MS) return undefined
  return state === 'sent' || state === 'delivered'
    ? grown(SENT_FIRST_MS, SENT_LAST_MS)
    : grown(OPEN_FIRST_MS, OPEN_LAST_MS)
}
