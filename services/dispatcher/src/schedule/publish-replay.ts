import { slotKey, slotOf } from '@parley/shared/messaging/layout'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import type { MessageRecord } from '../message/message-record.ts'
import { REPLAY_TYPE } from '../message/progress.ts'

/**
 * Sends the request to run a message again to whoever works its thread, in order with what arrives there. With
 * `onlyOpen` one that has ended by then stays as it is; with `onlyFailed` that alone is sent again which the provider
 * reported as failed later.
 */
export function publishReplay(
  publisher: Pick<Publisher, 'publish'>,
  { _id, workspace, thread }: Pick<MessageRecord, '_id' | 'workspace' | 'thread'>,
  which: { onlyOpen?: true; onlyFailed?: true } = {},
): Promise<void> {
  return publisher.publish({
    exchange: MESSAGES_EXCHANGE,
    routingKey: slotKey(slotOf(workspace, thread)),
    type: REPLAY_TYPE,
    body: Buffer.from(JSON.stringify({ workspace, messageId: _id, ...which })),
  })
}
