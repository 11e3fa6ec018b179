import { SLOTS, slotKey } from '@parley/shared/messaging/layout'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'

/** Publishes `BODY` for `DURATION` seconds with 64 unconfirmed at a time, and prints how many a second. */
const IN_FLIGHT = 64
const body = Buffer.from(String(process.env.BODY))
const connection = await connect(String(process.env.AMQP_URL), { noDelay: true })
const channel = await connection.createConfirmChannel()
const started = performance.now()
const until = started + Number(process.env.DURATION) * 1_000
let count = 0

const publishSequentially = async () => {
  while (performance.now() < until) {
    const key = slotKey(count++ % SLOTS)
    await new Promise<void>((resolve, reject) => {
      channel.publish(MESSAGES_EXCHANGE, key, body, { persistent: true }, (error) =>
        error ? reject(error) : resolve(),
      )
    })
  }
}
await Promise.all(Array.from({ length: IN_FLIGHT }, publishSequentially))
console.log(Math.round(count / ((performance.now() - started) / 1_000)))
await connection.close()
