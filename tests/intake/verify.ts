import { randomUUID } from 'node:crypto'
import { LOG_QUEUE, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import type { PostedMessage } from './post-load.ts'

/** The inputs of all messages in the log stream, in order, repeats included. */
export async function readLog(amqpUrl: string): Promise<string[]> {
  const connection = await connect(amqpUrl)
  const channel = await connection.createConfirmChannel()
  const marker = randomUUID()
  channel.publish(MESSAGES_EXCHANGE, 'marker', Buffer.from('{}'), { messageId: marker, persistent: true })
  await channel.waitForConfirms()
  await channel.prefetch(500)
  const inputs: string[] = []
  await new Promise<void>((resolve) => {
    const take = (delivery: { content: Buffer; properties: { messageId?: string } } | null) => {
      if (delivery === null) return
      if (delivery.properties.messageId === marker) return resolve()
      inputs.push(JSON.parse(delivery.content.toString()).input)
      channel.ack(delivery as Parameters<typeof channel.ack>[0])
    }
    void channel.consume(LOG_QUEUE, take, { arguments: { 'x-stream-offset': 'first' } })
  })
  await connection.close()
  return inputs
}

/** The inputs of all messages in the dispatcher's store, in the order of each thread. */
export async function readStore(mongoUrl: string, database: string): Promise<string[]> {
  const client = await mongoose.mongo.MongoClient.connect(mongoUrl)
  const found = await client
    .db(database)
    .collection<{ body: string; order: number }>('messages')
    .find({}, { projection: { body: 1 } })
    .sort({ order: 1 })
    .allowDiskUse()
    .toArray()
  await client.close()
  return found.map(({ body }) => JSON.parse(body).input)
}

const inputOf = ({ thread, sequence }: Pick<PostedMessage, 'thread' | 'sequence'>): string =>
  `${thread}/${sequence}`

/** How many of `expected` are not in `inputs`. */
export function missing(inputs: string[], expected: PostedMessage[]): number {
  const there = new Set(inputs)
  return expected.filter((message) => !there.has(inputOf(message))).length
}

/** How many inputs are there more than once. */
export function repeats(inputs: string[]): number {
  return inputs.length - new Set(inputs).size
}

/** How many of `confirmed` come, the first time, after a later one of their thread. */
export function outOfSequence(inputs: string[], confirmed: PostedMessage[]): number {
  const place = new Map<string, number>()
  inputs.forEach((input, at) => {
    if (!place.has(input)) place.set(input, at)
  })
  const last = new Map<string, number>()
  let count = 0
  for (const message of confirmed.toSorted((a, b) => a.sequence - b.sequence)) {
    const at = place.get(inputOf(message)) ?? Number.POSITIVE_INFINITY
    if (at < (last.get(message.thread) ?? -1)) count++
    last.set(message.thread, at)
  }
  return count
}
