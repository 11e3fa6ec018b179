import { EventEmitter } from 'node:events'
import { expect, test } from '@jest/globals'
import { type LostMessage, publishAgain } from '@parley/dispatcher/reconciliation/publish-again'
import type { Layouts } from '@parley/dispatcher/store/layout-record'
import type { Broker } from '@parley/shared/messaging/connection'
import type { Channel, ConsumeMessage } from 'amqplib'

const FIRST_IN_LOG = 3_000
const LAST_IN_LOG = 6_000

// RabbitMQ drops the beginning of a stream by segments of 500 MB, so the one here is a log of ids without a broker.
test('a lost message is published again, though an earlier one is not in the log any more', async () => {
  const published: string[] = []
  let lost = [lostAt(10), lostAt(5_000)]
  const round = async () => {
    const ended = await publishAgain({
      lost,
      broker: { withChannel: (use) => use(logChannel()) } as Pick<Broker, 'withChannel'>,
      publisher: { publish: async ({ messageId }) => void published.push(String(messageId)) },
      layouts: {
        findOne: async () => ({ _id: 'layout', generation: 1, partitions: 1 }),
      } as unknown as Layouts,
    })
    lost = lost.filter(({ _id }) => ![...ended.gone, ...ended.published].includes(_id))
    return ended
  }
  expect(await round()).toEqual({ published: [], gone: ['m-10'] })
  expect(await round()).toEqual({ published: ['m-5000'], gone: [] })
  expect(published).toEqual(['m-5000'])
})

const lostAt = (offset: number): LostMessage => ({
  _id: `m-${offset}`,
  trace: { slot: 0, offset, acceptedAt: new Date(), published: 0 },
})

/** Delivers the log's entries from the offset that is asked for on, or from its first. */
function logChannel(): Channel {
  const channel = Object.assign(new EventEmitter(), {
    prefetch: async () => {},
    ack: () => {},
    consume: async (
      _queue: string,
      take: (delivery: ConsumeMessage) => void,
      { arguments: { 'x-stream-offset': from } }: { arguments: { 'x-stream-offset': number } },
    ) => {
      for (let offset = Math.max(from, FIRST_IN_LOG); offset <= LAST_IN_LOG; offset++) take(entryAt(offset))
    },
  })
  return channel as unknown as Channel
}

const entryAt = (offset: number): ConsumeMessage =>
  ({
    content: Buffer.alloc(0),
    fields: { routingKey: '0' },
    properties: { messageId: `m-${offset}`, headers: { 'x-stream-offset': offset } },
  }) as unknown as ConsumeMessage
