import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freshDatabase, testServers } from '@parley/local/testing/test-servers'
import { baseConfig, type PublicJwk, parseConfig } from '@parley/shared/config'
import { type Caller, createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import { createLog } from '@parley/shared/log'
import type { PermissionEntry } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES } from '@parley/shared/permission/default-roles'
import mongoose from 'mongoose'
import { z } from 'zod'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'

export interface Answer {
  status: number
  headers: Headers
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  json: any
}

export interface CallOptions {
  body?: unknown
  raw?: string
  headers?: Record<string, string>
  /** A role's name; the first role of the workspace when left out. */
  role?: string
  workspace?: number
}

export interface ConfigurationServer {
  url: string
  mongo: { url: string; database: string }
  /** Calls as an account of a workspace (1) in a role (WORKSPACE_ADMIN). */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Calls as a service that speaks for itself. */
  callAs(service: ServiceName, path: string): Promise<Answer>
  close(): Promise<void>
}

type Roles = Record<string, readonly PermissionEntry[]>

/**
 * The real service on a free port with a database of its own, or that of `other`; roles are served as
 * identity serves them.
 */
export async function startConfiguration(
  ownRoles: Roles = {},
  other?: Pick<ConfigurationServer, 'mongo'>,
  environment: Record<string, string> = {},
): Promise<ConfigurationServer> {
  const roles: Roles = {
    ...Object.fromEntries(DEFAULT_ROLES.map(({ name, permissions }) => [name, permissions])),
    ...ownRoles,
  }
  const keys = makeKeys('gateway', 'configuration', 'dispatcher', 'webhook', 'identity')
  const mongo = other?.mongo ?? {
    url: (await testServers()).mongoUrl,
    database: freshDatabase('configuration'),
  }
  const identity = await listen(createServer(roleServer(Object.values(roles))))
  const parsed = parseConfig(z.object({ ...baseConfig, ...config }), {
    NODE_ENV: 'test',
    PORT: '0',
    LOG_LEVEL: 'silent',
    SERVICE_KEY: JSON.stringify(keys.privateOf('configuration')),
    SERVICE_JWKS: JSON.stringify({ keys: keys.public }),
    MONGO_URL: mongo.url,
    MONGO_DATABASE: mongo.database,
    IDENTITY_URL: identity.url,
    ...environment,
  })
  const log = createLog({ service: 'configuration', level: process.env.TEST_LOG ?? 'silent' })
  const service = await buildApp(parsed, log)
  const server = await listen(createServer(service.app))
  await untilReady(server.url)
  return {
    url: server.url,
    mongo,
    call: (method, path, options = {}) => {
      const caller = callerIn(Object.keys(roles), options)
      const token = keys.signerOf('gateway').sign({ audience: 'configuration', caller })
      return call(server.url + path, method, token, options)
    },
    callAs: (name, path) => {
      const token = keys.signerOf(name).sign({ audience: 'configuration' })
      return call(server.url + path, 'GET', token, {})
    },
    close: async () => {
      await server.close()
      await service.close()
      await identity.close()
      if (other === undefined) await dropDatabase(mongo)
    },
  }
}

function callerIn(roles: string[], { role = 'WORKSPACE_ADMIN', workspace = 1 }: CallOptions): Caller {
  return {
    account: { _id: 10 + workspace, username: 'ana@example.com', name: 'Ana', profile: 1, context: {} },
    workspace: { _id: workspace, name: 'Acme', namespace: 'acme', host: 'acme.example.com' },
    role: { _id: roles.indexOf(role), name: role, version: 1 },
  }
}

async function call(url: string, method: string, token: string, options: CallOptions): Promise<Answer> {
  const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body))
  const response = await fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
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

function makeKeys(...names: ServiceName[]) {
  const pairs = new Map(names.map((name) => [name, generateKeyPairSync('ec', { namedCurve: 'P-256' })]))
  const privateOf = (kid: ServiceName) =>
    ({ ...pairs.get(kid)?.privateKey.export({ format: 'jwk' }), kid }) as PublicJwk & { d: string }
  return {
    privateOf,
    public: names.map((kid) => ({ ...pairs.get(kid)?.publicKey.export({ format: 'jwk' }), kid })),
    signerOf: (name: ServiceName) => createInternalSigner(privateOf(name)),
  }
}

function roleServer(roles: (readonly PermissionEntry[])[]): Parameters<typeof createServer>[1] & object {
  return (req, res) => {
    const id = /^\/internal\/roles\/(\d+)\/versions\/1$/.exec(req.url ?? '')?.[1]
    const permissions = id === undefined ? undefined : roles[Number(id)]
    res.writeHead(permissions === undefined ? 404 : 200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ permissions }))
  }
}

async function listen(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function untilReady(url: string): Promise<void> {
  const until = Date.now() + 20_000
  while (Date.now() < until) {
    const { status } = await fetch(`${url}/health/ready`)
    if (status === 200) return
  }
  throw new Error('the configuration service did not become ready in 20 s')
}

async function dropDatabase({ url, database }: { url: string; database: string }): Promise<void> {
  const client = await mongoose.mongo.MongoClient.connect(url)
  await client.db(database).dropDatabase()
  await client.close()
}
