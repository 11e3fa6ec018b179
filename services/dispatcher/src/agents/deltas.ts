import { FairSlots } from '@parley/shared/fair-slots'
import type { Redis } from 'ioredis'
import { z } from 'zod'

/** A piece of what a model says, as it comes. It is not stored. */
export const delta = z.object({
  message: z.string(),
  channel: z.string(),
  thread: z.string(),
  /** The position of the turn among those of its message. */
  turn: z.number(),
  /** Where in the turn's text it begins; 0 again when the model is asked once more. */
  offset: z.number(),
  text: z.string(),
})
export type Delta = z.output<typeof delta>

/** Passes on what models say to whoever follows a thread, at whatever instance. */
export interface Deltas {
  begin(of: { workspace: number } & Pick<Delta, 'message' | 'channel' | 'thread' | 'turn'>): {
    push(text: string): void
    /** Resolves when all pushed text is on its way. Never rejects. */
    end(): Promise<void>
  }
}

const GATHER_MS = 50
const MAX_CHARACTERS = 8 * 1024
const IN_FLIGHT = { of: 'deltas', total: 1_000, spare: 1 }

/** The channel of Redis that what is passed on in a workspace goes through; instances of one database share it. */
export const deltaChannel = (database: string, workspace: number): string =>
  `parley:deltas:${database}:${workspace}`

/** Publishes to Redis what came in 50 ms together. What Redis does not take, or not fast enough, is dropped. */
export function createDeltas({ redis, database }: { redis: Redis; database: string }): Deltas {
  const slots = new FairSlots(IN_FLIGHT)
  const publish = async (workspace: number, delta: Delta) => {
    const release = slots.take([workspace])
    if (release === undefined) return
    await redis.publish(deltaChannel(database, workspace), JSON.stringify(delta)).catch(() => undefined)
    release()
  }
  return {
    begin({ workspace, ...of }) {
      let offset = 0
      let text = ''
      let timer: NodeJS.Timeout | undefined
      const flush = async () => {
        clearTimeout(timer)
        timer = undefined
        if (text === '') return
        const piece = { ...of, offset, text }
        offset += text.length
        text = ''
        await publish(workspace, piece)
      }
      return {
        push(more) {
          text += more
          if (text.length >= MAX_CHARACTERS) void flush()
          else timer ??= setTimeout(() => void flush(), GATHER_MS)
        },
        end: flush,
      }
    },
  }
}
