const MAX_REQUESTS = 100_000
const MAX_BODIES = 1_000
const MAX_BODY_CHARACTERS = 256 * 1024

/** One request of the API. */
interface LoggedRequest {
  /** Counts up from 1. */
  n: number
  at: string
  path: string
  model: string
  stream: boolean
  /** How many messages the conversation has, and what a person wrote last in it, 200 characters of that. */
  messages: number
  lastUserText: string
  /** The last four characters of the key; null without one. */
  key: string | null
  /** Only of the newest 1,000, and of at most 256 KiB. */
  body?: unknown
}

export interface RequestLog {
  add(request: Omit<LoggedRequest, 'n' | 'at'>): void
  /** In order, after the number `after`. */
  list(query: { after: number; limit: number }): LoggedRequest[]
  /** How many there were. */
  count(): number
  clear(): void
}

/** Remembers the newest 100,000 requests in memory. */
export function createRequestLog(): RequestLog {
  let logged: LoggedRequest[] = []
  let n = 0
  return {
    add({ body, ...request }) {
      const entry: LoggedRequest = { n: ++n, at: new Date().toISOString(), ...request }
      if (JSON.stringify(body).length <= MAX_BODY_CHARACTERS) entry.body = body
      logged.push(entry)
      delete logged.at(-1 - MAX_BODIES)?.body
      // Taking the first away each time would move all others.
      if (logged.length >= 2 * MAX_REQUESTS) logged = logged.slice(-MAX_REQUESTS)
    },
    list: ({ after, limit }) => {
      const first = logged[0]?.n ?? 1
      const from = Math.max(after + 1 - first, 0)
      return logged.slice(from, from + limit)
    },
    count: () => n,
    clear: () => {
      logged = []
    },
  }
}
