// Makes RabbitMQ ready for the services: each one's user with its permissions, then the exchanges and queues, with a
// member of each queue on every node and their leaders spread. Safe to repeat.
import { parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { declareDispatcherTopology } from '@parley/shared/messaging/topology'
import { amqpUrl, parseAmqpUrl, withoutTrailingSlashes } from '@parley/shared/server-url'
import { z } from 'zod'
import { spreadQueues } from './spread-queues.ts'

const UPLOAD_MS = 30_000
const DECLARE_MS = 60_000

const text = z.string().min(1)
const environment = parseConfig(
  z.object({
    // Of the management API, without a user: http(s)://host:15672.
    MANAGEMENT_URL: z.url({ protocol: /^https?$/ }).transform(withoutTrailingSlashes),
    ADMIN_USER: text,
    ADMIN_PASSWORD: text,
    // Users and permissions, in the form of RabbitMQ's own definitions.
    DEFINITIONS: text,
    // The dispatcher's, which may declare everything.
    AMQP_URL: amqpUrl,
  }),
  process.env,
)

await uploadDefinitions()
await declareTopology()
await spreadMembers()
console.log('RabbitMQ is ready: a user for each service, and the exchanges and queues')

/** Fails when a queue has fewer members than it can, and RabbitMQ can't be had to add them: one node less would stop it. */
async function spreadMembers(): Promise<void> {
  const { MANAGEMENT_URL: url, ADMIN_USER: user, ADMIN_PASSWORD: password, AMQP_URL } = environment
  const { path } = parseAmqpUrl(AMQP_URL)
  const lacking = await spreadQueues({ url, user, password }, path === undefined || path === '' ? '/' : path)
  if (lacking.length === 0) return
  console.error(`${lacking.join('; ')}. For each node without one run rabbitmq-queues grow <node> all`)
  console.error('(of a stream: rabbitmq-streams add_replica messages.log <node>), then this again')
  process.exit(1)
}

/** Sets the passwords and permissions that it names anew, and changes nothing else. */
async function uploadDefinitions(): Promise<void> {
  const { MANAGEMENT_URL, ADMIN_USER, ADMIN_PASSWORD, DEFINITIONS } = environment
  const credentials = Buffer.from(`${ADMIN_USER}:${ADMIN_PASSWORD}`).toString('base64')
  const response = await fetch(`${MANAGEMENT_URL}/api/definitions`, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
    body: DEFINITIONS,
    signal: AbortSignal.timeout(UPLOAD_MS),
  })
  if (!response.ok) throw new Error(`RabbitMQ refused the definitions: HTTP status ${response.status}`)
}

/** A queue that exists with other arguments is named in the log; then this fails after a minute. */
async function declareTopology(): Promise<void> {
  const log = createLog({ service: 'prepare-rabbitmq', level: 'warn' })
  const broker = await connectBroker({ url: environment.AMQP_URL, declare: declareDispatcherTopology, log })
  const late = setTimeout(() => {
    console.error('RabbitMQ did not take the exchanges and queues within 60 s')
    process.exit(1)
  }, DECLARE_MS)
  // It attaches once everything is declared.
  await new Promise<void>((resolve) => broker.follow({ attach: () => resolve() }))
  clearTimeout(late)
  await broker.close()
}
