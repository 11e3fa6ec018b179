import { createInternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import type { Log } from '@parley/shared/log'
import { connectMongo } from '@parley/shared/mongo'
import { connectRedis } from '@parley/shared/redis'
import { createApp, requireCaller, type Service } from '@parley/shared/service-app'
import { createOwnAuthorizer } from './access/authorizer.ts'
import { meRoute } from './accounts/me.ts'
import { administrationRoutes } from './administration-routes.ts'
import { apiTokenRoutes } from './api-tokens/api-token-routes.ts'
import { changesRoute } from './changes/changes-since.ts'
import { freeLoginTries, type IdentityConfig, minPasswordLength, requireSafe } from './config.ts'
import { introspectRoute } from './introspection/introspect.ts'
import { acceptInvitationRoute } from './invitations/accept-invitation.ts'
import { createCollections, createModels, type Models } from './models.ts'
import { changePasswordRoute } from './passwords/change-password.ts'
import { HashPool } from './passwords/hash-pool.ts'
import { createPasswords } from './passwords/passwords.ts'
import { registerRoute } from './registration/register.ts'
import { roleVersionRoute } from './roles/role-version.ts'
import { loginRoute } from './sessions/login.ts'
import { logoutRoute } from './sessions/logout.ts'
import { refreshRoute } from './sessions/refresh.ts'
import { jwksRoute } from './signing-keys/jwks.ts'
import { createKeyRing, ensureKeyRing } from './signing-keys/key-ring.ts'
import { createThrottles, slowDownByAddress } from './throttle/throttles.ts'
import { workspaceBySlugRoute } from './workspaces/by-slug.ts'

const AUTH_BODY_BYTES = 64 * 1024

/** Wires the identity service; the database is connected in the background. */
export async function buildApp(config: IdentityConfig, log: Log): Promise<Service> {
  requireSafe(config)
  const encryptionKeys = config.KEY_ENCRYPTION_KEYS
  const mongo = connectMongo({
    url: config.MONGO_URL,
    database: config.MONGO_DATABASE,
    log,
    prepare: async () => {
      await createCollections(models)
      await ensureKeyRing(models.keyRings, encryptionKeys)
    },
  })
  const { connection } = mongo
  const models: Models = createModels(connection)
  const pool = new HashPool()
  const passwords = createPasswords({ peppers: config.PEPPERS, cost: config.BCRYPT_COST, pool })
  const keyRing = createKeyRing(models.keyRings, encryptionKeys)
  const verifier = createInternalVerifier({ audience: 'identity', jwks: config.SERVICE_JWKS })
  const redis = config.REDIS_URL === undefined ? undefined : connectRedis(config.REDIS_URL, log)
  const throttles = createThrottles({ free: freeLoginTries(config), redis })
  const authorizer = createOwnAuthorizer(models)
  const minLength = minPasswordLength(config)
  const registration = { baseDomain: config.BASE_DOMAIN, minPasswordLength: minLength }
  const administration = { connection, models, authorizer, passwords, minPasswordLength: minLength }

  const app = createApp({
    log,
    readiness: {
      mongodb: mongo.isUp,
      signingKeys: async () => (await keyRing.jwks()).keys.length > 0,
    },
    routes: (express) => {
      express.use(['/api/auth/register', '/api/auth/refresh'], slowDownByAddress(throttles.arrivals))
      express.use(registerRoute({ connection, models, passwords, keyRing, ...registration }))
      express.use(loginRoute({ models, passwords, keyRing, throttles }))
      express.use(refreshRoute({ connection, models, keyRing }))
      express.use(logoutRoute({ connection, models, verifier }))
      express.use(meRoute({ models, verifier }))
      express.use(acceptInvitationRoute(administration, { keyRing }))
      express.use(['/api/auth/tokens', '/api/auth/password', '/rest'], requireCaller(verifier))
      const authBody = jsonBody({ maxBytes: AUTH_BODY_BYTES })
      express.use(apiTokenRoutes(administration, authBody), changePasswordRoute(administration, authBody))
      express.use('/rest', administrationRoutes(administration))
      express.use(jwksRoute({ keyRing }))
      express.use(introspectRoute({ models, verifier }))
      express.use(changesRoute({ models, verifier }))
      express.use(roleVersionRoute({ models, verifier }))
      express.use(workspaceBySlugRoute({ models, verifier }))
    },
  })
  return {
    app,
    close: async () => {
      redis?.disconnect()
      await Promise.all([pool.close(), mongo.close()])
    },
  }
}
