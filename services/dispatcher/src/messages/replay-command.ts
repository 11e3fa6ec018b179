import { MESSAGES_EXCHANGE, openConfirmChannel, partitionKey } from '@parley/shared/broker'
import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import type { ChannelModel, ConfirmChannel } from 'amqplib'
import type { Follower } from '../follow-broker.ts'
import type { MessageRecord } from '../message-record.ts'

/** What `type` says on the broker of the wish to run a message again. */
export const REPLAY_TYPE = 'message.replay.v1'
const CONFIRM_MS = 4_500

/** Sends the wish to run a message again to whoever works its partition, in order with what arrives there. */
export interface ReplayPublisher extends Follower {
  /** Resolves once the broker has confirmed; rejects with `unavailable`. */
  publish(record: Pick<MessageRecord, '_id' | 'workspace' | 'partition'>): Promise<void>
}

export function createReplayPublisher(log: Log): ReplayPublisher {
  let channel: ConfirmChannel | undefined
  const open = async (connection: ChannelModel) => {
    const opened = await openConfirmChannel(connection, log)
    opened.once('close', () => {
      if (channel === opened) channel = undefined
    })
    channel = opened
  }
  return {
    attach: (connection) =>
      void open(connection).catch((error: Error) =>
        log.warn({ reason: error.message }, 'no channel for replays'),
      ),
    publish: ({ _id, workspace, partition }) =>
      new Promise((resolve, reject) => {
        const unavailable = () =>
          reject(new Problem('unavailable', { detail: 'The message broker is away.' }))
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
