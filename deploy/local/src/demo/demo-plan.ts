/** The channel that the demo's messages name. */
export const CHANNEL_EXT_ID = 'demo-line'

export interface PlannedMessage {
  /** Counted from 0. */
  thread: number
  /** The message's place in its thread, from 0. */
  sequence: number
  key: string
  body: object
}

/** Spreads the messages over the threads: each thread's messages in the order in which they must arrive. */
export function planThreads(size: { messages: number; threads: number; run: string }): PlannedMessage[][] {
  const threads = Array.from({ length: Math.min(size.threads, size.messages) }, (): PlannedMessage[] => [])
  for (let at = 0; at < size.messages; at++) {
    const thread = at % threads.length
    const sequence = Math.floor(at / threads.length)
    threads[thread]?.push(planMessage({ thread, sequence, run: size.run }))
  }
  return threads
}

/** One message of a thread. */
function planMessage({
  thread,
  sequence,
  run,
}: {
  thread: number
  sequence: number
  run: string
}): PlannedMessage {
  const args = { template: 'order_update', language: 'en_US', variables: variablesOf(thread, sequence) }
  return {
    thread,
    sequence,
    key: `demo-${run}-${thread}-${sequence}`,
    body: {
      extId: CHANNEL_EXT_ID,
      user: { name: `Customer ${thread}`, phone: `+551190${String(thread).padStart(7, '0')}` },
      thread: { extId: `demo-${run}-${thread}` },
      answer: { functions: [{ name: 'sendTemplate', args }] },
    },
  }
}

const variablesOf = (thread: number, sequence: number): string[] => [String(thread), String(sequence)]

/** The thread and the sequence that a template's variables carry; undefined when they are none of the demo's. */
export function readVariables(
  variables: readonly string[],
): { thread: number; sequence: number } | undefined {
  const [thread, sequence] = variables.map(Number)
  if (thread === undefined || sequence === undefined) return undefined
  return Number.isInteger(thread) && Number.isInteger(sequence) ? { thread, sequence } : undefined
}
