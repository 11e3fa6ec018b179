import { FairSlots } from '@parley/shared/fair-slots'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { deltaChannel } from '../../agents/deltas.ts'
import type { ThreadRecord } from '../../message/thread-record.ts'

/** Somebody of the team has a thread open. It is not stored. */
export const presence = z.object({
  channel: z.string(),
  thread: z.string(),
  by: z.object({ _id: z.number(), name: z.string() }),
  isTyping: z.boolean(),
})
export type Presence = z.output<typeof presence>

/** Passes on to whoever follows a thread that somebody has it open, and whether they type. False where that was dropped. */
export type ShowPresence = (
  thread: Pick<ThreadRecord, 'workspace' | 'channel' | 'extId'>,
  of: Pick<Presence, 'by' | 'isTyping'>,
) => Promise<boolean>

const IN_FLIGHT = { of: 'signs of presence', total: 500, spare: 1 }

/** Publishes to Redis. What Redis does not take, or not fast enough, is dropped: nobody misses it for long. */
export function createShowPresence({ redis, database }: { redis: Redis; database: string }): ShowPresence {
  const slots = new FairSlots(IN_FLIGHT)
  return async ({ workspace, channel, extId: thread }, { by, isTyping }) => {
    const release = slots.take([workspace])
    if (release === undefined) return false
    const text = JSON.stringify({ channel, thread, by, isTyping } satisfies Presence)
    return redis
      .publish(deltaChannel(database, workspace), text)
      .then(
        () => true,
        () => false,
      )
      .finally(release)
  }
}
