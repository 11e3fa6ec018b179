import {
  type Listening,
  listen,
  makeServiceKeys,
  type Parsed,
  startService,
} from '@parley/local/testing/service-under-test'
import { freshDatabase, releaseDatabases, testServers } from '@parley/local/testing/test-servers'
import { type Caller, createInternalSigner, type ServiceName } from '@parley/shared/internal-token'
import type { PermissionEntry } from '@parley/shared/permission/decide'
import { DEFAULT_ROLES } from '@parley/shared/permission/entry'
import { buildApp } from '../src/app.ts'
import { config } from '../src/config.ts'

export interface JsonResponse {
  status: number
  headers: Headers
  text: string
  json: Parsed
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
  call(method: string, path: string, options?: CallOptions): Promise<JsonResponse>
  /** Calls as a service that speaks for itself. */
  callAs(
    service: ServiceName,
    path: string,
    options?: { method?: string; body?: unknown },
  ): Promise<JsonResponse>
  close(): Promise<void>
}

type Roles = Record<string, readonly PermissionEntry[]>

interface Options {
  /** Beside the roles that every workspace has. */
  roles?: Roles
  /** Shares the database of this server. */
  others?: Pick<ConfigurationServer, 'mongo'>
  environment?: Record<string, string>
}

/** The real service on a free port; roles are served as identity serves them. */
export async function startConfiguration(options: Options = {}): Promise<ConfigurationServer> {
  const defaults = DEFAULT_ROLES.map(({ name, permissions }) => [name, permissions] as const)
  const roles: Roles = { ...Object.fromEntries(defaults), ...options.roles }
  const mongo = options.others?.mongo ?? {
    url: (await testServers()).mongoUrl,
    database: freshDatabase('configuration'),
  }
  const identity = await serveRoles(Object.values(roles))
  const keys = makeServiceKeys()
  const server = await startService({
    name: 'configuration',
    config,
    build: buildApp,
    keys,
    environment: {
      MONGO_URL: mongo.url,
      MONGO_DATABASE: mongo.database,
      IDENTITY_URL: identity.url,
      ...options.environment,
    },
  })
  const sign = (issuer: ServiceName, caller?: Caller) => {
    const audience = 'configuration'
    return createInternalSigner(keys.own[issuer]).sign(caller ? { audience, caller } : { audience })
  }
  return {
    url: server.url,
    mongo,
    call: (method, path, options = {}) => {
      const token = sign('gateway', callerIn(Object.keys(roles), options))
      return call(server.url + path, method, token, options)
    },
    callAs: (name, path, { method = 'GET', body } = {}) =>
      call(server.url + path, method, sign(name), body === undefined ? {} : { body }),
    close: async () => {
      await server.close()
      await identity.close()
      if (options.others === undefined) await releaseDatabases(mongo.url, [mongo.database])
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

async function call(url: string, method: string, token: string, options: CallOptions): Promise<JsonResponse> {
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
  const json = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, headers: response.headers, text, json }
}

function serveRoles(roles: (readonly PermissionEntry[])[]): Promise<Listening> {
  return listen((req, res) => {
    const id = /^\/internal\/roles\/(\d+)\/versions\/1$/.exec(req.url ?? '')?.[1]
    const permissions = id === undefined ? undefined : roles[Number(id)]
    res.writeHead(permissions === undefined ? 404 : 200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ permissions }))
  })
}
