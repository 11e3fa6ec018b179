import { MESSAGES_EXCHANGE, partitionKey } from '@parley/shared/broker'
import type { MessageRecord } from '../message/message-record.ts'
import { publishConfirmed } from './confirmed-publish.ts'
import type { PublishChannel } from './publish-channel.ts'

/** What `type` says on the broker of the request to run a message again. */
export const REPLAY_TYPE = 'message.replay.v1'

/** Sends the request to run a message again to whoever works its partition, in order with what arrives there. */
export interface ReplayPublisher {
  /** Resolves once the broker has confirmed; rejects with `unavailable`. */
  publish(record: Pick<MessageRecord, '_id' | 'workspace' | 'partition'>): Promise<void>
}

export function createReplayPublisher(publishChannel: Pick<PublishChannel, 'current'>): ReplayPublisher {
  return {
    publish: ({ _id, workspace, partition }) =>
      publishConfirmed(publishChannel, {
        exchange: MESSAGES_EXCHANGE,
        key: partitionKey(partition),
        body: { workspace, messageId: _id },
        properties: { type: REPLAY_TYPE },
      }),
  }
}
