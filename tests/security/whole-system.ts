import { buildApp as buildConfiguration } from '@parley/configuration/app'
import { config as configurationConfig } from '@parley/configuration/config'
import { buildApp as buildDispatcher } from '@parley/dispatcher/app'
import { config as dispatcherConfig } from '@parley/dispatcher/config'
import { buildApp as buildGateway } from '@parley/gateway/app'
import { gatewayConfig } from '@parley/gateway/config'
import { buildApp as buildIdentity } from '@parley/identity/app'
import { identityConfig } from '@parley/identity/config'
import {
  type Listening,
  makeServiceKeys,
  namedSecret,
  startService,
} from '@parley/local/testing/service-under-test'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import type { BaseConfig } from '@parley/shared/config'
import type { ServiceName } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import type { Service } from '@parley/shared/service-app'
import { buildApp as buildWebhook } from '@parley/webhook/app'
import { config as webhookConfig } from '@parley/webhook/config'
import mongoose from 'mongoose'
import type { Registry } from 'prom-client'
import type { z } from 'zod'

/** The gateway and every service behind it, in this process, on the test servers. */
export interface WholeSystem {
  url: string
  /** The apps, to look into what they route. */
  apps: Record<ServiceName, Service['app']>
  /** What each shows as metrics. */
  registries: Record<ServiceName, Registry>
  close(): Promise<void>
}

/** Each service's own `MONGO_URL`, `AMQP_URL`, `REDIS_URL`, as far as it has them; its database has its name. */
export type ServersOf = Record<ServiceName, Record<string, string>>

/** Starts it; `more` is added to the environment of every process. `serversOf` stands in for the test servers. */
export async function startWholeSystem(
  more: Record<string, string> = {},
  serversOf?: ServersOf,
): Promise<WholeSystem> {
  const servers = serversOf === undefined ? await testServers() : undefined
  const { mongoUrl: MONGO_URL = '', redisUrl: REDIS_URL = '', amqpUrl: AMQP_URL = '' } = servers ?? {}
  const keys = makeServiceKeys()
  const databases: string[] = []
  const apps: Partial<WholeSystem['apps']> = {}
  const registries: Partial<WholeSystem['registries']> = {}
  const started: Listening[] = []
  const start = async <S extends z.ZodRawShape>(
    name: ServiceName,
    service: {
      config: S
      build(config: z.output<z.ZodObject<S>> & BaseConfig, log: Log): Promise<Service>
      environment: Record<string, string>
    },
  ) => {
    const { config } = service
    const environment = { ...service.environment, ...serversOf?.[name], ...more }
    const build: typeof service.build = async (parsed, log) => {
      const built = await service.build(parsed, log)
      apps[name] = built.app
      registries[name] = built.registry
      return built
    }
    const listening = await startService({ name, config, build, keys, environment })
    started.unshift(listening)
    return listening.url
  }
  const stored = (name: ServiceName): Record<string, string> => {
    if (serversOf !== undefined) return {}
    const database = freshDatabase(name)
    databases.push(database)
    return { MONGO_URL, MONGO_DATABASE: database }
  }
  const IDENTITY_URL = await start('identity', {
    config: identityConfig,
    build: buildIdentity,
    environment: {
      ...stored('identity'),
      PEPPERS: namedSecret('p1'),
      KEY_ENCRYPTION_KEYS: namedSecret('k1'),
      BASE_DOMAIN: 'parley.test',
      BCRYPT_COST: '4',
    },
  })
  const CONFIGURATION_URL = await start('configuration', {
    config: configurationConfig,
    build: buildConfiguration,
    environment: { ...stored('configuration'), AMQP_URL, IDENTITY_URL },
  })
  const WEBHOOK_URL = await start('webhook', {
    config: webhookConfig,
    build: buildWebhook,
    environment: { ...stored('webhook'), AMQP_URL, REDIS_URL, IDENTITY_URL, CONFIGURATION_URL },
  })
  const DISPATCHER_URL = await start('dispatcher', {
    config: dispatcherConfig,
    build: buildDispatcher,
    environment: {
      ...stored('dispatcher'),
      ...{ AMQP_URL, REDIS_URL, WEBHOOK_URL, IDENTITY_URL, CONFIGURATION_URL },
      // It only asks there whether the provider's news would get through.
      GATEWAY_URL: WEBHOOK_URL,
      SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'),
    },
  })
  const url = await start('gateway', {
    config: gatewayConfig,
    build: buildGateway,
    environment: { IDENTITY_URL, CONFIGURATION_URL, WEBHOOK_URL, DISPATCHER_URL },
  })
  return {
    url,
    apps: apps as WholeSystem['apps'],
    registries: registries as WholeSystem['registries'],
    async close() {
      for (const listening of started) await listening.close()
      if (servers === undefined) return
      const client = await mongoose.mongo.MongoClient.connect(MONGO_URL)
      for (const name of databases) await client.db(name).dropDatabase()
      await client.close()
    },
  }
}
