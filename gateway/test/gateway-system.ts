import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, beforeEach } from '@jest/globals'
import { makeServiceKeys, type Parsed, type ServiceKeys } from '@parley/local/testing/service-under-test'
import { baseConfig, parseConfig } from '@parley/shared/config'
import { respondToClientErrors } from '@parley/shared/http-server'
import { createInternalVerifier, type InternalVerifier } from '@parley/shared/internal-token'
import { createLog } from '@parley/shared/log'
import type { ServiceApp } from '@parley/shared/service-app'
import { z } from 'zod'
import {
  type CallOptions,
  dropIdentity,
  type HttpResponse,
  type IdentityServer,
  identityEnvironment,
  newRegistration,
  send,
  startIdentity,
  untilReady,
} from '../../services/identity/test/identity-server.ts'
import { buildApp } from '../src/app.ts'
import { gatewayConfig } from '../src/config.ts'

/** A service behind the gateway: a real server that records requests and responds as a test sets it. */
export interface Backend {
  url: string
  requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
  verifier: InternalVerifier
  /** Handles the next requests; they get JSON with their path when it is not set. */
  respond: RequestListener | undefined
  server: Server
}

export type BackendName = 'webhook' | 'configuration' | 'dispatcher'

export interface GatewaySystem {
  url: string
  /** The gateway's own, for a test that serves it otherwise. */
  app: ServiceApp
  keys: ServiceKeys
  identity: IdentityServer
  /** Starts a further instance of identity, which the gateway does not know; the caller closes it. */
  startIdentity(): Promise<IdentityServer>
  backends: Record<BackendName, Backend>
  call(method: string, path: string, options?: CallOptions & { token?: string }): Promise<HttpResponse>
  /** Registers a new user and returns the registration, which has an access token. */
  register(change?: Record<string, unknown>): Promise<Parsed>
  /** Sends bytes as they are, and returns everything that comes back until the connection ends. */
  raw(text: string): Promise<string>
  close(): Promise<void>
}

/** The real gateway in front of the real identity service and three servers that stand for the others. */
export async function startSystem(environment: Record<string, string> = {}): Promise<GatewaySystem> {
  const keys = makeServiceKeys()
  const ofIdentity = await identityEnvironment(keys)
  const identity = await startIdentity(keys, ofIdentity)
  await untilReady(identity.url)
  const backends = {
    webhook: await startBackend('webhook', keys),
    configuration: await startBackend('configuration', keys),
    dispatcher: await startBackend('dispatcher', keys),
  }
  const config = parseConfig(z.object({ ...baseConfig, ...gatewayConfig }), {
    NODE_ENV: 'test',
    PORT: '0',
    SERVICE_KEY: JSON.stringify(keys.own.gateway),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    IDENTITY_URL: identity.url,
    WEBHOOK_URL: backends.webhook.url,
    CONFIGURATION_URL: backends.configuration.url,
    DISPATCHER_URL: backends.dispatcher.url,
    ...environment,
  })
  const service = await buildApp(
    config,
    createLog({ service: 'gateway', level: process.env.TEST_LOG ?? 'silent' }),
  )
  const server = createServer(service.app)
  respondToClientErrors(server)
  const url = await listen(server)
  const call: GatewaySystem['call'] = (method, path, { token, ...options } = {}) =>
    send(url + path, method, {
      ...options,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...options.headers },
    })
  return {
    url,
    app: service.app,
    keys,
    identity,
    startIdentity: async () => {
      const further = await startIdentity(keys, ofIdentity)
      await untilReady(further.url)
      return further
    },
    backends,
    call,
    register: async (change) => {
      const { status, json } = await call('POST', '/api/auth/register', { body: newRegistration(change) })
      if (status !== 200) throw new Error(`registration returned ${status}`)
      return json
    },
    raw: (text) => exchange(Number(new URL(url).port), text),
    close: async () => {
      await stop(server)
      await service.close()
      for (const backend of Object.values(backends)) await stop(backend.server)
      await dropIdentity(identity)
    },
  }
}

/**
 * A gateway for the tests of a file, a user of it, and one of the services behind it: before each test that
 * service has no requests and its own response again.
 */
export function gatewayUnderTest(options: { backend: BackendName; environment?: Record<string, string> }) {
  let system: GatewaySystem
  let token: string
  beforeAll(async () => {
    system = await startSystem(options.environment)
    token = (await system.register()).accessToken
  }, 150_000)
  afterAll(() => system.close())
  beforeEach(() => {
    const backend = system.backends[options.backend]
    backend.requests.length = 0
    backend.respond = undefined
  })
  return {
    /** Available, like the rest, once the tests run. */
    get system() {
      return system
    },
    /** The user's access token. */
    get token() {
      return token
    },
    get backend() {
      return system.backends[options.backend]
    },
  }
}

async function startBackend(name: BackendName, keys: ServiceKeys): Promise<Backend> {
  const server = createServer(async (req, res) => {
    if (backend.respond !== undefined) return backend.respond(req, res)
    let body = ''
    try {
      for await (const chunk of req) body += String(chunk)
    } catch {
      return
    }
    if (req.url !== '/health/ready')
      backend.requests.push({ method: `${req.method}`, url: `${req.url}`, headers: req.headers, body })
    res.setHeader('content-type', 'application/json')
    res.end(JSON.stringify({ backend: name, url: req.url }))
  })
  const verifier = createInternalVerifier({ audience: name, jwks: keys.jwks })
  const backend: Backend = { url: await listen(server), requests: [], verifier, respond: undefined, server }
  return backend
}

/** Listens on a free port, or on the port of an address that it had before. */
export async function listen(server: Server, url?: string): Promise<string> {
  const port = url === undefined ? 0 : Number(new URL(url).port)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Stops listening and cuts every connection. */
export function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve) => {
    let response = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    socket.on('data', (chunk) => {
      response += chunk.toString('latin1')
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(response))
  })
}
