/** A message as the message log shows it; times in milliseconds since the epoch. */
export interface LoggedMessage {
  receivedAt: number
  /** When it had been sent. */
  sentAt: number
  attempts: { startedAt: number; endedAt: number; outcome: string }[]
}

/** Milliseconds that messages spent, by what they waited for. */
export interface TimeSpent {
  /** For the number's rate, and for the instance that works the thread. */
  queue: number
  /** The same, while another instance took over from the one that was killed. */
  takeOver: number
  provider: number
  /** Between a refused send and the next one. */
  retry: number
  /** Until a send whose response was lost was known to have arrived, or not. */
  uncertain: number
}

/**
 * Where the messages of a thread spent their time, each from when it could have been worked: when it had come in and the
 * one before it had been sent. A wait that began or went on in `killed` counts as the take-over.
 */
export function timeSpent(
  thread: readonly LoggedMessage[],
  killed: { from: number; to: number } | undefined,
): TimeSpent {
  const spent: TimeSpent = { queue: 0, takeOver: 0, provider: 0, retry: 0, uncertain: 0 }
  let before = 0
  for (const { receivedAt, sentAt, attempts } of thread) {
    let at = Math.max(receivedAt, before)
    let waitsFor: keyof TimeSpent = 'queue'
    for (const { startedAt, endedAt, outcome } of attempts) {
      const isTakeOver = waitsFor === 'queue' && killed && at < killed.to && startedAt > killed.from
      spent[isTakeOver ? 'takeOver' : waitsFor] += Math.max(0, startedAt - at)
      spent.provider += endedAt - startedAt
      at = Math.max(at, endedAt)
      waitsFor = outcome === 'uncertain' ? 'uncertain' : outcome === 'retryable' ? 'retry' : 'queue'
    }
    if (waitsFor !== 'queue') spent[waitsFor] += Math.max(0, sentAt - at)
    before = Math.max(before, sentAt)
  }
  return spent
}

/** All of them together. */
export function sumOf(all: readonly TimeSpent[]): TimeSpent {
  const sum = (name: keyof TimeSpent) => all.reduce((total, one) => total + one[name], 0)
  return {
    queue: sum('queue'),
    takeOver: sum('takeOver'),
    provider: sum('provider'),
    retry: sum('retry'),
    uncertain: sum('uncertain'),
  }
}
