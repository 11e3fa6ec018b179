import { MESSAGES_EXCHANGE, partitionKey } from '@parley/shared/broker'
import { Problem } from '@parley/shared/problem'
import type { KeptChannel } from '../keep-channel.ts'
import type { MessageRecord } from '../message-record.ts'

/** What `type` says on the broker of the wish to run a message again. */
export const REPLAY_TYPE = 'message.replay.v1'
const CONFIRM_MS = 4_500

/** Sends the wish to run a message again to whoever works its partition, in order with what arrives there. */
export interface ReplayPublisher {
  /** Resolves once the broker has confirmed; rejects with `unavailable`. */
  publish(record: Pick<MessageRecord, '_id' | 'workspace' | 'partition'>): Promise<void>
}

export function createReplayPublisher(kept: Pick<KeptChannel, 'current'>): ReplayPublisher {
  return {
    publish: ({ _id, workspace, partition }) =>
      new Promise((resolve, reject) => {
        const unavailable = () =>
          reject(new Problem('unavailable', { detail: 'The message broker is away.' }))
        const channel = kept.current()
        if (channel === undefined) return unavailable()
        const late = setTimeout(unavailable, CONFIRM_MS)
        channel.publish(
          MESSAGES_EXCHANGE,
          partitionKey(partition),
          Buffer.from(JSON.stringify({ workspace, messageId: _id })),
          { persistent: true, type: REPLAY_TYPE, contentType: 'application/json' },
          (error) => {
            clearTimeout(late)
            if (error) unavailable()
            else resolve()
          },
        )
      }),
  }
}
