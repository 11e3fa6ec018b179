import { randomUUID } from 'node:crypto'
import { createAuthorizer } from '@parley/shared/authorizer'
import { connectBroker, declareTopology, openChannel, PARTITIONS } from '@parley/shared/broker'
import type { BaseConfig } from '@parley/shared/config'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import type { ChannelModel } from 'amqplib'
import { createRpcCallback } from './callbacks/rpc.ts'
import { createWhatsappCallback } from './callbacks/whatsapp.ts'
import { createChannels } from './channels.ts'
import { createCommitter } from './commit.ts'
import type { Config } from './config.ts'
import { collectionsOf, prepareDatabase } from './database.ts'
import { createHandle } from './handlers/handle.ts'
import { createHttpClient, type HttpClient } from './http-client.ts'
import { messageRoutes } from './messages/routes.ts'
import { createLeaseStore } from './partitions/lease-store.ts'
import { openPartition } from './partitions/partition.ts'
import { type Partitions, startPartitions } from './partitions/partitions.ts'
import { createRunMessage, type RunMessage } from './run-message.ts'
import { createSigner } from './signing.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

/** Connects to MongoDB and the broker in the background, works this copy's partitions, and serves the message log. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  const tokenSigner = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'dispatcher', jwks: config.SERVICE_JWKS })
  const inner = (baseUrl: string, audience: 'identity' | 'configuration') =>
    createInternalClient({ baseUrl, audience, signer: tokenSigner })
  const database = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    log,
    prepare: (connection) => prepareDatabase(connection, PARTITIONS),
  })
  const collections = collectionsOf(database.connection)
  const http = createHttpClient({ allowed: config.ALLOWED_PRIVATE_TARGETS })
  const copy = randomUUID()
  const run = createRunner({
    config,
    log,
    http,
    copy,
    collections,
    configuration: inner(config.CONFIGURATION_URL, 'configuration'),
  })
  const broker = await followBroker({ url: config.AMQP_URL, log })
  const partitions = database.ready.then(() =>
    startPartitions({
      leases: createLeaseStore({ collections, copy }),
      copy,
      open: (lease) => openPartition({ lease, messages: collections.messages, run, log }),
      log,
    }),
  )
  void partitions.then((started) => broker.follow(started))
  const app = createApp({
    log,
    readiness: { mongodb: database.isUp, rabbitmq: broker.isUp },
    routes: (app) => {
      const authorizer = createAuthorizer(inner(config.IDENTITY_URL, 'identity'))
      const { messages } = collections
      app.use('/rest/messages', requireCaller(verifier), messageRoutes({ messages, authorizer }))
    },
  })
  return {
    app,
    close: async () => {
      if (await database.isUp().catch(() => false)) await (await partitions).close()
      await broker.close()
      http.close()
      await database.close()
    },
  }
}

function createRunner(options: {
  config: Config
  log: Log
  http: HttpClient
  copy: string
  collections: ReturnType<typeof collectionsOf>
  configuration: ReturnType<typeof createInternalClient>
}): RunMessage {
  const { config, log, http, copy, collections, configuration } = options
  const signer = createSigner(config.SIGNING_SECRET)
  return createRunMessage({
    channels: createChannels(configuration, log),
    handle: createHandle({ http, signer }),
    callbacks: { whatsapp: createWhatsappCallback(http), rpc: createRpcCallback({ http, signer }) },
    committer: createCommitter(collections.messages, copy),
    log,
    uncertainWindow: config.UNCERTAIN_WINDOW_SECONDS * 1_000,
    keptMs: config.MESSAGES_KEPT_DAYS * DAY_MS,
    now: Date.now,
  })
}

/** Keeps a broker connection, and tells the partitions of every new one. */
async function followBroker(options: { url: string; log: Log }) {
  const { url, log } = options
  let current: ChannelModel | undefined
  let partitions: Partitions | undefined
  const broker = await connectBroker({
    url,
    log,
    setup: async (model) => {
      const channel = await openChannel(model, log)
      await declareTopology(channel)
      await channel.close()
    },
  })
  broker.on('connect', (model: ChannelModel) => {
    current = model
    partitions?.attach(model)
  })
  broker.on('disconnect', () => {
    current = undefined
  })
  return {
    follow(started: Partitions) {
      partitions = started
      if (current !== undefined) started.attach(current)
    },
    isUp: async () => current !== undefined,
    close: () => broker.close(),
  }
}
