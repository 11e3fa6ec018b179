import {
  CONSENT_TYPE,
  ERASED_TYPE,
  PEOPLE_TYPE,
  publishedConsent,
  publishedErasure,
  publishedPeople,
  type SeenPerson,
} from '@parley/shared/consent'
import { defined } from '@parley/shared/defined'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { consumeBatches } from '@parley/shared/messaging/consumer'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { declarePeople, PEOPLE_QUEUE } from '@parley/shared/messaging/topology'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { ConsumeMessage } from 'amqplib'
import type { Connection } from 'mongoose'
import { upsertPeople } from '../people/people-store.ts'
import { peopleOf } from '../store/people-collection.ts'
import { applyConsent } from './apply-consent.ts'
import { eraseHere } from './erase-here.ts'

const QUERY_MS = 5_000
const MAX_NAME = 256

/** Consumes queue `people` in order, by one instance at a time. Connects in the background. */
export async function consumePeople(options: {
  url: string
  connection: Connection
  ready: Promise<unknown>
  log: Log
}): Promise<{ close(): Promise<void> }> {
  const { url, connection, ready, log } = options
  const broker = await connectBroker({ url, declare: declarePeople, log })
  const deadLetters = createPublisher({ broker, log })
  const consumer = consumeBatches({
    queue: PEOPLE_QUEUE,
    work: async (batch) => {
      await ready
      return workPeople(connection, batch)
    },
    deadLetters,
    declare: broker.declare,
    log,
  })
  broker.follow(consumer)
  return {
    close: async () => {
      await consumer.close()
      await deadLetters.close()
      await broker.close()
    },
  }
}

/** Returns what can't be read. What comes again is the same. Rejects while the database is unavailable. */
async function workPeople(connection: Connection, batch: ConsumeMessage[]): Promise<DeadLetter[]> {
  const dead: DeadLetter[] = []
  for (const delivery of batch) {
    const body = jsonOrUndefined(delivery.content.toString())
    const reason = await work(connection, delivery.properties.type, body)
    if (reason !== undefined) dead.push({ delivery, reason })
  }
  return dead
}

async function work(connection: Connection, type: unknown, body: unknown): Promise<string | undefined> {
  if (type === PEOPLE_TYPE) {
    const { data } = publishedPeople.safeParse(body)
    if (data === undefined) return 'people that can’t be read'
    for (const [workspace, people] of Map.groupBy(data.people, (one) => one.workspace))
      await noteSeen(connection, workspace, people)
    return undefined
  }
  if (type === CONSENT_TYPE) {
    const { data } = publishedConsent.safeParse(body)
    if (data === undefined) return 'a change of consent that can’t be read'
    const { id: _id, at, text, ...change } = data
    await applyConsent(connection, { _id, ...change, at: new Date(at), ...defined({ text }) })
    return undefined
  }
  if (type === ERASED_TYPE) {
    const { data } = publishedErasure.safeParse(body)
    if (data === undefined) return 'an erasure that can’t be read'
    await eraseHere(connection, data)
    return undefined
  }
  return `unknown message type ${JSON.stringify(type)}`
}

/** Stores the name that people give themselves, as long as nobody has given them another one. */
async function noteSeen(connection: Connection, workspace: number, people: SeenPerson[]): Promise<void> {
  const addresses = people.flatMap((one) => [...one.addresses, ...(one.left ?? [])])
  const known = await peopleOf(connection)
    .find(
      { workspace, addresses: { $in: addresses }, name: { $exists: true } },
      { projection: { addresses: 1 }, maxTimeMS: QUERY_MS },
    )
    .toArray()
  const named = new Set(known.flatMap((one) => one.addresses))
  const claims = people.map(({ addresses, left, name, at, lastContactAt }) => ({
    addresses,
    ...defined({
      left: left && { addresses: left, at: new Date(at) },
      name: addresses.some((one) => named.has(one)) ? undefined : name?.slice(0, MAX_NAME).toWellFormed(),
      lastContactAt: lastContactAt === undefined ? undefined : new Date(lastContactAt),
    }),
  }))
  await upsertPeople({ connection, workspace, claims })
}
