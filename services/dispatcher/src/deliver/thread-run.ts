import type { MessageRecord, WaitingFor } from '../message/message-record.ts'
import type { RunSlot } from '../round-robin/ready-threads.ts'

/** The state of a thread after its head was run. */
export type RunResult =
  /** The head has reached an end; the next message may run. */
  | { kind: 'closed' }
  /** The head is to be run again at this time (milliseconds since the epoch). */
  | { kind: 'wait'; record: MessageRecord; until: number; for?: WaitingFor }
  /** The head is to be run again once this settles, which it does in any case; meanwhile the thread takes no place. */
  | { kind: 'pending'; record: MessageRecord; settled: Promise<void>; for: WaitingFor }
  /** The thread in memory may be out of date: read it anew at this time. */
  | { kind: 'reload'; at: number; for?: WaitingFor }
  /** The head waits as a thread of its own (its `lane`), to be run again at this time; the next message may run. */
  | { kind: 'left'; lane: string; at: number; for?: WaitingFor }

/** The result for a thread whose head may have become a thread of its own. */
export function resultForThread(
  record: MessageRecord,
  lane: string | undefined,
  result: RunResult,
): RunResult {
  if (lane === undefined || lane === record.lane) return result
  if (result.kind !== 'wait' && result.kind !== 'reload') return result
  const { for: waitingFor = 'retry' } = result
  return { kind: 'left', lane, at: result.kind === 'wait' ? result.until : result.at, for: waitingFor }
}

/** A call that takes longer counts as waiting, no more as running. */
const MOMENT_MS = 50

/**
 * Waits for somebody else's answer. Longer than 50 ms, the place among what runs goes to others meanwhile, unless too
 * many wait already.
 */
export type Calling = <T>(call: () => Promise<T>) => Promise<T>

/** As {@link Calling}, for what may be known at once. */
export function waitFor<T>(calling: Calling, answer: T | Promise<T>): T | Promise<T> {
  return answer instanceof Promise ? calling(() => answer) : answer
}

export function callingFrom(
  slot: Pick<RunSlot, 'leave' | 'enter'>,
  changed: (isWaiting: boolean) => void,
): Calling {
  return async (call) => {
    const timer = setInterval(() => {
      if (!slot.leave()) return
      clearInterval(timer)
      changed(true)
    }, MOMENT_MS)
    try {
      return await call()
    } finally {
      clearInterval(timer)
      slot.enter()
      changed(false)
    }
  }
}
