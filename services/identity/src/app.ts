import { createAuditReports } from '@parley/shared/audit-acts'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalVerifier } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { serveRoutes } from '@parley/shared/openapi/route'
import { connectRedis } from '@parley/shared/redis'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import type { Express } from 'express'
import { Counter, Gauge, Registry } from 'prom-client'
import { createOwnAuthorizer } from './access/authorizer.ts'
import { freeLoginTries, type IdentityConfig, mailSettings, minPasswordLength } from './config.ts'
import { internalRoutes } from './internal-routes.ts'
import { introspectionRoutes } from './introspection/introspect.ts'
import { createLinkMails } from './password-links/link-mails.ts'
import { createPasswords, HashPool } from './passwords/passwords.ts'
import { type IdentityDependencies, routes } from './routes.ts'
import { createKeyRing, ensureKeyRing } from './signing-keys/key-ring.ts'
import { storeReported } from './store/audit.ts'
import { collectionsOf, prepareDatabase } from './store/collections.ts'
import { createThrottles, slowDownByAddress } from './throttles.ts'

/** Wires the identity service; the database is connected in the background. */
export async function buildApp(config: IdentityConfig, log: Log): Promise<Service> {
  const mail = mailSettings(config)
  const registry = new Registry()
  const tracing = await createTracing('identity', config)
  const encryptionKeys = config.KEY_ENCRYPTION_KEYS
  const mongo = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
    prepare: async () => {
      await prepareDatabase(connection, { auditDays: config.AUDIT_RETENTION_DAYS })
      await ensureKeyRing(collections.keyRings, encryptionKeys)
    },
  })
  const { connection } = mongo
  const collections = collectionsOf(connection)
  const pool = new HashPool()
  new Gauge({
    name: 'parley_password_hashes_waiting',
    help: 'Passwords that wait for a worker to hash or compare them; 503 beyond 256',
    registers: [registry],
    collect() {
      this.set(pool.waiting)
    },
  })
  const mails = new Counter({
    name: 'parley_password_mails_total',
    help: 'Mails with a link for a new password, by outcome: sent or lost',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const passwords = createPasswords({ peppers: config.PEPPERS, cost: config.BCRYPT_COST, pool })
  const keyRing = createKeyRing(collections.keyRings, encryptionKeys)
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const throttles = createThrottles({ free: freeLoginTries(config), redis })
  const reports = createAuditReports({ send: (acts) => storeReported(collections, acts), log })
  const linkMails = mail && createLinkMails(mail, { connection, collections, reports, mails, log })
  const dependencies: IdentityDependencies = {
    connection,
    collections,
    passwords,
    keyRing,
    throttles,
    reports,
    verifier: createInternalVerifier({ audience: 'identity', jwks: config.SERVICE_JWKS }),
    authorizer: createOwnAuthorizer(collections),
    baseDomain: config.BASE_DOMAIN,
    minPasswordLength: minPasswordLength(config),
    simulatorUrl: config.SIMULATOR_URL,
    linkMails,
  }
  const app = createApp({
    log,
    registry,
    tracing,
    readiness: {
      required: {
        mongodb: mongo.isUp,
        signingKeys: async () => (await keyRing.jwks()).keys.length > 0,
      },
      // Without it each instance counts tries to log in by itself.
      optional: redis === undefined ? {} : { redis: async () => (await redis.ping()) === 'PONG' },
    },
    routes: (express) => mountRoutes(express, dependencies),
  })
  return {
    app,
    registry,
    close: async () => {
      await linkMails?.close()
      redis?.disconnect()
      await reports.close()
      await Promise.all([pool.close(), mongo.close(), tracing.close()])
    },
  }
}

/** All routes: for everybody, for callers whom the gateway has verified, and for services. */
function mountRoutes(app: Express, dependencies: IdentityDependencies): void {
  const { verifier, throttles } = dependencies
  const forEverybody = ['/api/auth/register', '/api/auth/refresh', '/api/auth/logout']
  app.use(forEverybody, slowDownByAddress(throttles))
  app.use(serveRoutes(routes, dependencies, { requireCaller: requireCaller(verifier) }))
  app.use(introspectionRoutes(dependencies), internalRoutes(dependencies))
}
