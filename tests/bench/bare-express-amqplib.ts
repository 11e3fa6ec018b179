import { SLOTS, slotKey } from '@parley/shared/messaging/layout'
import { MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { type ConfirmChannel, connect } from 'amqplib'
import express from 'express'

/** The baseline of intake, without tokens, validation, idempotency and logs: parse, publish, wait for the confirm. */
const connection = await connect(String(process.env.AMQP_URL), { noDelay: true })
const channel: ConfirmChannel = await connection.createConfirmChannel()
let count = 0

const app = express()
app.use(express.json({ limit: '1mb' }))
app.post('/api/hooks/whatsapp', async (req, res) => {
  const body = Buffer.from(JSON.stringify(req.body))
  const key = slotKey(count++ % SLOTS)
  await new Promise<void>((resolve, reject) => {
    channel.publish(MESSAGES_EXCHANGE, key, body, { persistent: true }, (error) =>
      error ? reject(error) : resolve(),
    )
  })
  res.type('application/json').end(body)
})
app.listen(Number(process.env.PORT), '127.0.0.1')
process.on('SIGTERM', () => process.exit(0))
