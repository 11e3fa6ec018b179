import type { Take } from '@parley/shared/messaging/deliveries'
import { QUEUE_END_TYPE } from '@parley/shared/messaging/layout'
import type { Intake } from './intake.ts'

/** Takes what arrives at a queue, and knows when the last of it is safe. */
interface UntilEnd {
  take: Take
  /** The end of the queue has come, and all that was in front of it is safe. */
  isDrained(): boolean
}

/**
 * The end of a queue is published to it once nothing else is any more. It comes as often as it takes: one that comes again
 * says the same.
 */
export function createUntilEnd(intake: Pick<Intake, 'take'>): UntilEnd {
  let unsafe = 0
  let allSafe: PromiseWithResolvers<void> | undefined
  let drained = false
  const end = async () => {
    allSafe ??= Promise.withResolvers()
    if (unsafe === 0) allSafe.resolve()
    await allSafe.promise
    drained = true
    return undefined
  }
  const left = (error: unknown) => {
    unsafe--
    // It comes again, and so does the end behind it.
    allSafe?.reject(error)
    allSafe = undefined
    throw error
  }
  return {
    isDrained: () => drained,
    take(delivery) {
      if (delivery.properties.type === QUEUE_END_TYPE) return end()
      unsafe++
      return intake.take(delivery).then((dead) => {
        if (--unsafe === 0) allSafe?.resolve()
        return dead
      }, left)
    },
  }
}
