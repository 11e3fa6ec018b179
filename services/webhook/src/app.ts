import { createAuthorizer } from '@parley/shared/authorizer'
import type { BaseConfig } from '@parley/shared/config'
import { createInternalClient } from '@parley/shared/internal-client'
import { createInternalSigner, createInternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { methodNotAllowed } from '@parley/shared/problem'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { Redis } from 'ioredis'
import type { Config } from './config.ts'
import { createIdempotency } from './idempotency.ts'
import { receive } from './native/receive.ts'
import { createPublisher } from './publish.ts'

const MAX_BODY_BYTES = 1024 * 1024
const REDIS_MS = 1_000

/** Connects to the broker and Redis in the background and wires the webhook service. */
export async function buildApp(config: Config & BaseConfig, log: Log): Promise<Service> {
  const signer = createInternalSigner(config.SERVICE_KEY)
  const verifier = createInternalVerifier({ audience: 'webhook', jwks: config.SERVICE_JWKS })
  const identity = createInternalClient({ baseUrl: config.IDENTITY_URL, audience: 'identity', signer })
  const publisher = await createPublisher({ url: config.AMQP_URL, log })
  const redis = connectRedis(config.REDIS_URL, log)
  const whatsapp = receive({
    publisher,
    idempotency: createIdempotency(redis, log),
    authorizer: createAuthorizer(identity),
  })
  const app = createApp({
    log,
    readiness: { rabbitmq: publisher.isUp, redis: async () => (await redis.ping()) === 'PONG' },
    routes: (app) => {
      app
        .route('/api/hooks/whatsapp')
        .post(requireCaller(verifier), jsonBody({ maxBytes: MAX_BODY_BYTES }), whatsapp)
        .all(methodNotAllowed('POST'))
    },
  })
  return {
    app,
    close: async () => {
      await publisher.close()
      redis.disconnect()
    },
  }
}

function connectRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    commandTimeout: REDIS_MS,
    connectTimeout: REDIS_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(100 * attempt, 2_000),
  })
  redis.on('error', (error: Error) => log.warn({ reason: error.message }, 'redis error'))
  return redis
}
