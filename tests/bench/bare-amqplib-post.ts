import { Agent, request } from 'node:http'
import { TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { type ConsumeMessage, connect } from 'amqplib'

const PREFETCH = 100
const SOCKETS = 256

/** The baseline of dispatching, without store, order, retries, signatures and log: consume, POST, ack. */
const connection = await connect(String(process.env.AMQP_URL), { noDelay: true })
const agent = new Agent({ keepAlive: true, maxSockets: SOCKETS })

for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++) {
  const channel = await connection.createChannel()
  await channel.prefetch(PREFETCH)
  await channel.consume(testQueue(partition), (delivery) => {
    if (delivery === null) return
    post(delivery).then(
      () => channel.ack(delivery),
      () => channel.nack(delivery),
    )
  })
}

function post({ content, properties }: ConsumeMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': content.length,
      'webhook-id': properties.messageId,
    }
    const outgoing = request(
      `${process.env.SINK_URL}/callback`,
      { method: 'POST', agent, headers },
      (response) => {
        response.resume().on('end', resolve)
      },
    )
    outgoing.on('error', reject)
    outgoing.end(content)
  })
}
