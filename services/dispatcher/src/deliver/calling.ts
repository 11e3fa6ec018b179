import type { Slot } from '../round-robin/ready-threads.ts'

/** A call that takes longer counts as waiting, no more as running. */
const MOMENT_MS = 50

/**
 * Waits for somebody else's answer. Longer than 50 ms, the place among what runs goes to others meanwhile, unless too
 * many wait already.
 */
export type Calling = <T>(call: () => Promise<T>) => Promise<T>

/** As {@link Calling}, for what may be known at once. */
export async function waitFor<T>(calling: Calling, answer: T | Promise<T>): Promise<T> {
  return answer instanceof Promise ? calling(() => answer) : answer
}

export function callingFrom(
  slot: Pick<Slot, 'leave' | 'enter'>,
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
