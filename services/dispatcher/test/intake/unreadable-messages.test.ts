import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { slotKey } from '@parley/shared/messaging/layout'
import { DEAD_LETTER_QUEUE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import { rpcLine, text } from '../rpc-line.ts'

const line = rpcLine()

describe('what can not be stored', () => {
  test.each([
    [
      'of a later version',
      { type: 'message.received.v2' },
      JSON.stringify(text('x', 'n')),
      'unknown message type',
    ],
    ['of another shape', {}, '{"extId":1}', 'body field /extId'],
    ['that is not JSON', {}, '{', 'body field /'],
    [
      'of no workspace',
      { headers: { channel: 'line' } },
      JSON.stringify(text('x', 'n')),
      'headers.workspace',
    ],
  ])(
    'a message %s goes to the rejected ones with the reason, and the partition goes on',
    async (name, change, body, reason) => {
      const connection = await connect(line.world.amqpUrl)
      const channel = await connection.createChannel()
      const headers = { workspace: line.world.workspace, channel: 'line', thread: 'n', source: 'api' }
      channel.publish('messages', slotKey(0), Buffer.from(body), {
        messageId: `bad ${name}`,
        type: 'message.received.v1',
        headers,
        ...change,
      })
      const rejected = await eventually(
        async () => (await channel.get(DEAD_LETTER_QUEUE, { noAck: true })) || undefined,
      )
      expect(rejected.properties.messageId).toBe(`bad ${name}`)
      expect(rejected.properties.headers?.reason).toContain(reason)
      expect(rejected.content.toString()).toBe(body)
      await connection.close()
    },
  )

  test('fields that a later version adds do no harm', async () => {
    const message = { ...text('more', 'o'), extra: { a: 1 }, user: { phone: '1', vip: true } }
    await line.world.post('m-more', message)
    expect((await line.world.message('m-more', 'delivered')).message).toEqual(message)
  })
})
