import type { DeadLetter, Take } from '@parley/shared/messaging/deliveries'
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
  const unsafe = new Set<Promise<DeadLetter | undefined>>()
  let drained = false
  const end = async () => {
    // One that was left comes again, and so does the end behind it.
    await Promise.all(unsafe)
    drained = true
    return undefined
  }
  return {
    isDrained: () => drained,
    take(delivery) {
      if (delivery.properties.type === QUEUE_END_TYPE) return end()
      const taken = intake.take(delivery)
      unsafe.add(taken)
      const settled = () => unsafe.delete(taken)
      taken.then(settled, settled)
      return taken
    },
  }
}
