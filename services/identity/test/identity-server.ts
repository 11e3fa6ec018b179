import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { namedSecret, type Parsed, type ServiceKeys } from '@parley/local/testing/service-under-test'
import { freshDatabase, releaseDatabases, testServers } from '@parley/local/testing/test-servers'
import { waitUntil } from '@parley/local/wait-until'
import { baseConfig, parseConfig } from '@parley/shared/config'
import { createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { createLog } from '@parley/shared/log'
import mongoose from 'mongoose'
import { z } from 'zod'
import { buildApp } from '../src/app.ts'
import { identityConfig } from '../src/config.ts'
import { tokenHash } from '../src/store/session.ts'

export interface HttpResponse {
  status: number
  headers: Headers
  text: string
  json: Parsed
}

/** An environment for the service with a database of its own. */
export async function identityEnvironment(keys: ServiceKeys): Promise<Record<string, string>> {
  return {
    NODE_ENV: 'test',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.identity),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    MONGO_URL: (await testServers()).mongoUrl,
    MONGO_DATABASE: freshDatabase('identity'),
    PEPPERS: namedSecret('p1', 48),
    KEY_ENCRYPTION_KEYS: namedSecret('k1'),
    BASE_DOMAIN: 'parley.test',
    BCRYPT_COST: '4',
  }
}

export interface IdentityServer {
  url: string
  /** Method and path of every request that came in. */
  seen: string[]
  /** While true, every connection is cut: to its callers the service is unavailable. */
  unavailable: boolean
  /** The service's database. */
  database: mongoose.mongo.Db
  /** Sends JSON as the gateway would let it through. */
  call(method: string, path: string, options?: CallOptions): Promise<HttpResponse>
  /** Sends JSON as another service that speaks for itself. */
  callAs(service: ServiceName, method: string, path: string, body?: unknown): Promise<HttpResponse>
  /** Sends JSON on behalf of whoever a token belongs to, as the gateway would. */
  callWith(token: string, method: string, path: string, body?: unknown): Promise<HttpResponse>
  /** Registers a new user and answers with the registration, which has an access token. */
  register(change?: Record<string, unknown>): Promise<Parsed>
  close(): Promise<void>
}

export interface CallOptions {
  body?: unknown
  raw?: string
  headers?: Record<string, string>
}

/** The real service on a free port. Several may share an environment, and so a database. */
export async function startIdentity(
  keys: ServiceKeys,
  environment: Record<string, string>,
): Promise<IdentityServer> {
  const config = parseConfig(z.object({ ...baseConfig, ...identityConfig }), environment)
  const service = await buildApp(
    config,
    createLog({ service: 'identity', level: process.env.TEST_LOG ?? 'silent' }),
  )
  const server = createServer((req, res) => {
    if (identity.unavailable) return void req.socket.destroy()
    identity.seen.push(`${req.method} ${req.url}`)
    service.app(req, res)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = new mongoose.mongo.MongoClient(config.MONGO_URL)
  const gateway = createInternalSigner(keys.own.gateway)
  const call = (method: string, path: string, options: CallOptions = {}) => send(url + path, method, options)
  const identity: IdentityServer = {
    url,
    seen: [],
    unavailable: false,
    database: client.db(config.MONGO_DATABASE),
    call,
    callAs: (service, method, path, body) => {
      const token = createInternalSigner(keys.own[service]).sign({ audience: 'identity' })
      return call(method, path, { body, headers: { authorization: `Bearer ${token}` } })
    },
    callWith: async (token, method, path, body) => {
      const { json } = await identity.callAs('gateway', 'POST', '/internal/introspect', questionAbout(token))
      if (!json.active) throw new Error('the token is not valid')
      const internal = gateway.sign({ audience: 'identity', caller: json.caller })
      return call(method, path, { body, headers: { authorization: `Bearer ${internal}` } })
    },
    register: async (change) => {
      const { status, json } = await call('POST', '/api/auth/register', { body: newRegistration(change) })
      if (status !== 200) throw new Error(`registration answered ${status}`)
      return json
    },
    close: async () => {
      await new Promise((resolve) => {
        server.close(resolve)
        server.closeAllConnections()
      })
      await service.close()
      await client.close()
    },
  }
  return identity
}

function questionAbout(token: string): object {
  if (token.startsWith('parley_')) return { tokenHash: tokenHash(token) }
  const { sub, sid } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return { account: Number(sub), session: sid }
}

/** Closes and gives the database back; the end of a test file. */
export async function dropIdentity(identity: IdentityServer): Promise<void> {
  await identity.close()
  await releaseDatabases((await testServers()).mongoUrl, [identity.database.databaseName])
}

/** Sends a request and reads the answer, which is JSON or empty. */
export async function send(url: string, method: string, options: CallOptions = {}): Promise<HttpResponse> {
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: text === '' ? undefined : JSON.parse(text),
  }
}

/** Waits until the service is ready; throws after 30 s. */
export async function untilReady(url: string): Promise<void> {
  const ready = async () => (await fetch(`${url}/health/ready`)).status === 200
  if (!(await waitUntil(ready, { timeoutMs: 30_000 }))) throw new Error(`${url} did not become ready`)
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
