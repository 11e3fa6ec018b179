import { type JsonRequest, type JsonResponse, sendJson } from '@parley/local/testing/send-json'
import type { Parsed, RunningService } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import type { ServiceName } from '@parley/shared/internal-token'
import type { mongo } from 'mongoose'
import { tokenHash } from '../src/store/session.ts'

export interface IdentityServer {
  /** The service itself. */
  service: RunningService
  keys: Parley['keys']
  /** The service's database. */
  database: mongo.Db
  /** Sends JSON as the gateway would let it through. */
  call(method: string, path: string, options?: JsonRequest): Promise<JsonResponse>
  /** Sends JSON as another service that speaks for itself. */
  callAs(service: ServiceName, method: string, path: string, body?: unknown): Promise<JsonResponse>
  /** Sends JSON on behalf of whoever a token belongs to, as the gateway would. */
  callWith(token: string, method: string, path: string, body?: unknown): Promise<JsonResponse>
  /** Sends JSON as `callWith` does, for a gateway that does not know what was revoked since this was called. */
  confirm(token: string): Promise<(method: string, path: string, body?: unknown) => Promise<JsonResponse>>
  /** Registers a new user and returns the registration, which has an access token. */
  register(change?: Record<string, unknown>): Promise<Parsed>
  login(user: { email: string; password: string }): Promise<JsonResponse>
  /** Starts a further instance on the same database; it is closed with the first one, or before. */
  startInstance(environment?: Record<string, string>): Promise<IdentityServer>
  /** Closes every instance and gives the database back. */
  close(): Promise<void>
}

/** The real service for the tests of a file. */
export const identityForTests = (environment?: Record<string, string>): IdentityServer =>
  startedForTests(() => startIdentity(environment))

/** The real service on a free port with a database of its own, and without Redis unless `environment` names one. */
export async function startIdentity(environment: Record<string, string> = {}): Promise<IdentityServer> {
  const own = { REDIS_URL: '', ...environment }
  const parley = await startParley({ services: ['identity'], environment: { identity: own } })
  return { ...identityServer(parley, parley.services.identity), close: parley.close }
}

/** An instance of identity, with the calls that others make. */
export function identityServer(parley: Parley, service: RunningService): IdentityServer {
  const call = (method: string, path: string, options: JsonRequest = {}) =>
    sendJson(service.url + path, method, options)
  const identity: IdentityServer = {
    service,
    keys: parley.keys,
    database: parley.database('identity'),
    call,
    callAs: (issuer, method, path, body) =>
      call(method, path, { body, headers: { authorization: parley.authorization(issuer, 'identity') } }),
    callWith: async (token, method, path, body) => (await identity.confirm(token))(method, path, body),
    confirm: async (token) => {
      const { json } = await identity.callAs('gateway', 'POST', '/internal/introspect', questionAbout(token))
      if (!json.active) throw new Error('the token is not valid')
      const authorization = parley.authorization('gateway', 'identity', json.caller)
      return (method, path, body) => call(method, path, { body, headers: { authorization } })
    },
    register: async (change) => {
      const { status, json } = await call('POST', '/api/auth/register', { body: newRegistration(change) })
      if (status !== 200) throw new Error(`registration returned ${status}`)
      return json
    },
    login: ({ email, password }) => call('POST', '/api/auth/login', { body: { email, password } }),
    startInstance: async (environment) => identityServer(parley, await parley.start('identity', environment)),
    close: service.close,
  }
  return identity
}

/** The payload of a JWT. */
export const claimsOf = (token: string): Parsed =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

function questionAbout(token: string): object {
  if (token.startsWith('parley_')) return { tokenHash: tokenHash(token) }
  const { sub, sid } = claimsOf(token)
  return { account: Number(sub), session: sid }
}

let count = 0

/** A registration that nobody has made yet. */
export function newRegistration(change: Record<string, unknown> = {}) {
  count++
  return {
    name: 'Ana Souza',
    email: `ana.${count}@example.com`,
    phone: '+5511999990000',
    password: 'correct horse battery staple',
    namespace: `team ${count}`,
    ...change,
  }
}
