import { createHash } from 'node:crypto'
import { CAMPAIGN_EVENTS_TYPE, type CampaignEvent } from '@parley/shared/campaign-events'
import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { createPublisher, type Publisher } from '@parley/shared/messaging/publisher'
import { CAMPAIGN_EVENTS_QUEUE, declareCampaignEvents } from '@parley/shared/messaging/topology'
import { startRelay } from '@parley/shared/relay/relay'
import { beginRelays, type StoredRelay } from '@parley/shared/relay/relay-state'
import type { Connection, mongo } from 'mongoose'
import { Gauge, type Registry } from 'prom-client'
import { historyOf } from '../history/write-history.ts'
import { consentsOf } from '../store/consent-history.ts'
import { campaignEvents, type Written } from './campaign-events.ts'

const RELAY = 'events'
const BATCH = 100
/** Bytes of events that go together in one message of the broker. */
const MAX_BYTES = 1024 * 1024
/** So much before the place was lost is looked at again. */
const AGAIN_MS = 24 * 60 * 60 * 1_000
/** The workspace knows what its own files say, and each of their rows may say something. */
const NO_FILE = { $ne: 'import' } as const

interface Change {
  written: Written
  at?: Date | undefined
}

const relaysOf = (connection: Connection): mongo.Collection<StoredRelay> =>
  connection.collection('relays') as unknown as mongo.Collection<StoredRelay>

/** Lets the events begin with the first write after this, however late the relay starts. */
export async function beginEvents(connection: Connection): Promise<void> {
  await beginRelays(databaseOf(connection), relaysOf(connection), [RELAY])
}

/**
 * Publishes what is written to histories as events, in order: they follow from what is stored, so that none is lost whatever
 * dies. Connects in the background.
 */
export async function relayEvents({
  url,
  connection,
  ready,
  registry,
  log,
}: {
  url: string
  connection: Connection
  ready: Promise<unknown>
  registry: Registry
  log: Log
}): Promise<{ close(): Promise<void> }> {
  const broker = await connectBroker({ url, declare: declareCampaignEvents, log })
  const publisher = createPublisher({ broker, log })
  const relay = startRelay<Change>({
    ...{ name: RELAY, log, ready },
    db: () => databaseOf(connection),
    relays: () => relaysOf(connection),
    stages: [
      { $match: { 'ns.coll': { $in: ['history', 'consents'] }, operationType: 'insert' } },
      { $match: { 'fullDocument.source': NO_FILE } },
    ],
    changeOf: ({ ns, fullDocument, wallTime }) => ({
      written: { kind: ns.coll === 'consents' ? 'consent' : 'version', entry: fullDocument },
      at: wallTime,
    }),
    snapshot: (since) => writtenSince(connection, since),
    async handle(changes) {
      const events = await campaignEvents(
        connection,
        changes.map(({ written }) => written),
      )
      await publishAll(publisher, events)
    },
  })
  new Gauge({
    name: 'parley_campaign_event_lag_seconds',
    help: 'Age of the oldest change of a campaign, template or consent whose event is not published',
    registers: [registry],
    collect() {
      this.set(relay.lagSeconds())
    },
  })
  return {
    close: async () => {
      await relay.close()
      await publisher.close()
      await broker.close()
    },
  }
}

async function publishAll(publisher: Pick<Publisher, 'publish'>, events: CampaignEvent[]): Promise<void> {
  const bodies: Buffer[] = []
  let some: string[] = []
  let bytes = 0
  const end = () => {
    if (some.length > 0) bodies.push(Buffer.from(`{"events":[${some.join(',')}]}`))
    some = []
    bytes = 0
  }
  for (const event of events) {
    const text = JSON.stringify(event)
    some.push(text)
    bytes += Buffer.byteLength(text)
    if (bytes >= MAX_BYTES) end()
  }
  end()
  await Promise.all(
    bodies.map((body) =>
      publisher.publish({
        ...{ exchange: CAMPAIGN_EVENTS_QUEUE, routingKey: '', mandatory: true, type: CAMPAIGN_EVENTS_TYPE },
        ...{ body, messageId: createHash('sha256').update(body).digest('base64url') },
      }),
    ),
  )
}

/** Yields changes that may have been missed if the place in the oplog was lost: they come again with the same keys. */
async function* writtenSince(connection: Connection, since: Date | undefined): AsyncGenerator<Change[]> {
  if (since === undefined) return
  const at = { $gte: new Date(since.getTime() - AGAIN_MS) }
  const sources = [
    historyOf(connection)
      .find({ at })
      .sort({ at: 1 })
      .map((entry): Written => ({ kind: 'version', entry })),
    consentsOf(connection)
      .find({ at, source: NO_FILE })
      .sort({ at: 1 })
      .map((entry): Written => ({ kind: 'consent', entry })),
  ]
  for (const source of sources) {
    let changes: Change[] = []
    for await (const written of source) {
      changes.push({ written })
      if (changes.length < BATCH) continue
      yield changes
      changes = []
    }
    if (changes.length > 0) yield changes
  }
}

function databaseOf({ db }: Connection): mongo.Db {
  if (db === undefined) throw new Error('not connected')
  return db as unknown as mongo.Db
}
