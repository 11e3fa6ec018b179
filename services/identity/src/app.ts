import type { Authorizer } from '@parley/shared/authorizer'
import { createTracing } from '@parley/shared/create-tracing'
import { createInternalVerifier, type InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { methodNotAllowed } from '@parley/shared/problem'
import { connectRedis } from '@parley/shared/redis'
import { callerOf, createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { type Express, Router } from 'express'
import { Gauge, Registry } from 'prom-client'
import { createOwnAuthorizer, scopeOf } from './access/authorizer.ts'
import { meRoute } from './accounts/me.ts'
import type { Administration } from './administration.ts'
import { apiTokenRoutes } from './api-tokens/create-api-token.ts'
import { freeLoginTries, type IdentityConfig, minPasswordLength } from './config.ts'
import { changesRoute, roleVersionRoute, workspaceBySlugRoute } from './internal-routes.ts'
import { callerRoute, introspectRoute } from './introspection/introspect.ts'
import { acceptInvitationRoute, invitationRoutes } from './invitations/invitation-routes.ts'
import { changePasswordRoute } from './password-change/change-password.ts'
import { createPasswords, HashPool } from './passwords/passwords.ts'
import { registerRoute } from './registration/register.ts'
import { authBody, page } from './requests.ts'
import { roleRoutes } from './roles/role-routes.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { createKeyRing, ensureKeyRing, jwksRoute, type KeyRing } from './signing-keys/key-ring.ts'
import type { AuditEntry } from './store/audit.ts'
import { type Collections, collectionsOf, prepareDatabase } from './store/collections.ts'
import { createThrottles, slowDownByAddress } from './throttles.ts'
import { userRoutes } from './users/user-routes.ts'
import { workspaceRoutes } from './workspaces/workspace-routes.ts'

const REST_BODY_BYTES = 4 * 1024 * 1024

/** Wires the identity service; the database is connected in the background. */
export async function buildApp(config: IdentityConfig, log: Log): Promise<Service> {
  const registry = new Registry()
  const tracing = await createTracing('identity', config)
  const encryptionKeys = config.KEY_ENCRYPTION_KEYS
  const mongo = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    memory: config.MEMORY,
    log,
    prepare: async () => {
      await prepareDatabase(connection)
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
  const passwords = createPasswords({ peppers: config.PEPPERS, cost: config.BCRYPT_COST, pool })
  const keyRing = createKeyRing(collections.keyRings, encryptionKeys)
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const throttles = createThrottles({ free: freeLoginTries(config), redis })
  const dependencies: IdentityDependencies = {
    connection,
    collections,
    passwords,
    keyRing,
    throttles,
    verifier: createInternalVerifier({ audience: 'identity', jwks: config.SERVICE_JWKS }),
    authorizer: createOwnAuthorizer(collections),
    baseDomain: config.BASE_DOMAIN,
    minPasswordLength: minPasswordLength(config),
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
      redis?.disconnect()
      await Promise.all([pool.close(), mongo.close(), tracing.close()])
    },
  }
}

/** What the routes of this service need. */
interface IdentityDependencies extends Administration {
  keyRing: KeyRing
  verifier: InternalVerifier
  baseDomain: string
}

/** All routes: for everybody, for callers whom the gateway has verified, and for services. */
function mountRoutes(app: Express, dependencies: IdentityDependencies): void {
  const { verifier, throttles } = dependencies
  const forEverybody = ['/api/auth/register', '/api/auth/refresh', '/api/auth/logout']
  app.use(forEverybody, slowDownByAddress(throttles))
  app.use(registerRoute(dependencies), loginRoute(dependencies), refreshRoute(dependencies))
  app.use(logoutRoute(dependencies), acceptInvitationRoute(dependencies), jwksRoute(dependencies))

  app.use(['/api/auth/me', '/api/auth/tokens', '/api/auth/password', '/rest'], requireCaller(verifier))
  app.use(meRoute(dependencies), changePasswordRoute(dependencies))
  app.use(apiTokenRoutes(dependencies, authBody()))
  app.use('/rest', administrationRoutes(dependencies))

  app.use(introspectRoute(dependencies), callerRoute(dependencies), changesRoute(dependencies))
  app.use(roleVersionRoute(dependencies), workspaceBySlugRoute(dependencies))
}

/** All that lies below `/rest` here. */
function administrationRoutes(administration: Administration): Router {
  const body = jsonBody({
    maxBytes: REST_BODY_BYTES,
    types: ['application/json', 'application/merge-patch+json'],
  })
  const router = Router({ caseSensitive: true })
  router.use(userRoutes(administration, body), roleRoutes(administration, body))
  router.use(workspaceRoutes(administration, body), invitationRoutes(administration, body))
  router.use(auditRoutes(administration))
  return router
}

/** `GET /rest/audit`: what was done in the caller's workspace, the latest first. */
function auditRoutes({
  collections,
  authorizer,
}: {
  collections: Pick<Collections, 'audit'>
  authorizer: Authorizer
}): Router {
  const router = Router({ caseSensitive: true })
  router
    .route('/audit')
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'audit', 'read'))
      const view = ({ workspace: _workspace, ...entry }: AuditEntry) => entry
      res.json(await page({ req, collection: collections.audit, filter, view, newestFirst: true }))
    })
    .all(methodNotAllowed('GET'))
  return router
}
