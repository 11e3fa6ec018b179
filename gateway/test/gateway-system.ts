import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { beforeAll, beforeEach } from '@jest/globals'
import { type JsonRequest, type JsonResponse, sendJson } from '@parley/local/testing/send-json'
import type { Parsed, ServiceKeys } from '@parley/local/testing/service-under-test'
import { startParley } from '@parley/local/testing/start-parley'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { createInternalVerifier, type InternalVerifier } from '@parley/shared/internal-token'
import type { ServiceApp } from '@parley/shared/service-app'
import {
  type IdentityServer,
  identityServer,
  newRegistration,
} from '../../services/identity/test/identity-server.ts'

/** A service behind the gateway: a real server that records requests and responds as a test sets it. */
interface Backend {
  url: string
  requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[]
  verifier: InternalVerifier
  /** Handles the next requests; they get JSON with their path when it is not set. */
  respond: RequestListener | undefined
  server: Server
}

type BackendName = 'webhook' | 'configuration' | 'dispatcher'

interface GatewaySystem {
  url: string
  /** The gateway's own, for a test that serves it otherwise. */
  app: ServiceApp
  keys: ServiceKeys
  /** The instance that the gateway knows, and any that it starts on the same database. */
  identity: IdentityServer
  backends: Record<BackendName, Backend>
  call(method: string, path: string, options?: JsonRequest & { token?: string }): Promise<JsonResponse>
  /** Registers a new user and returns the registration, which has an access token. */
  register(change?: Record<string, unknown>): Promise<Parsed>
  /** Sends bytes as they are, and returns everything that comes back until the connection ends. */
  raw(text: string): Promise<string>
  close(): Promise<void>
}

/** {@link startSystem} for the tests of a file or of a `describe`. */
export const systemForTests = (environment?: Record<string, string>): GatewaySystem =>
  startedForTests(() => startSystem(environment))

/** The real gateway in front of the real identity service and three servers that stand for the others. */
export async function startSystem(environment: Record<string, string> = {}): Promise<GatewaySystem> {
  const servers = {
    webhook: await startBackend('webhook'),
    configuration: await startBackend('configuration'),
    dispatcher: await startBackend('dispatcher'),
  }
  const urls = {
    WEBHOOK_URL: servers.webhook.url,
    CONFIGURATION_URL: servers.configuration.url,
    DISPATCHER_URL: servers.dispatcher.url,
  }
  const parley = await startParley({
    services: ['identity', 'gateway'],
    environment: { all: { REDIS_URL: '' }, gateway: { ...urls, ...environment } },
  })
  const { keys, url } = parley
  const verified = (name: BackendName) =>
    Object.assign(servers[name], { verifier: createInternalVerifier({ audience: name, jwks: keys.jwks }) })
  const call: GatewaySystem['call'] = (method, path, { token, ...options } = {}) =>
    sendJson(url + path, method, {
      ...options,
      headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...options.headers },
    })
  return {
    url,
    app: parley.services.gateway.app,
    keys,
    identity: identityServer(parley, parley.services.identity),
    backends: {
      webhook: verified('webhook'),
      configuration: verified('configuration'),
      dispatcher: verified('dispatcher'),
    },
    call,
    register: async (change) => {
      const { status, json } = await call('POST', '/api/auth/register', { body: newRegistration(change) })
      if (status !== 200) throw new Error(`registration returned ${status}`)
      return json
    },
    raw: (text) => exchange(Number(new URL(url).port), text),
    close: async () => {
      await parley.close()
      for (const { server } of Object.values(servers)) await stop(server)
    },
  }
}

/**
 * A gateway for the tests of a file, a user of it, and one of the services behind it: before each test that
 * service has no requests and its own response again.
 */
export function gatewayUnderTest(options: { backend: BackendName; environment?: Record<string, string> }) {
  const system = systemForTests(options.environment)
  let token: string
  beforeAll(async () => {
    token = (await system.register()).accessToken
  })
  beforeEach(() => {
    const backend = system.backends[options.backend]
    backend.requests.length = 0
    backend.respond = undefined
  })
  return {
    system,
    /** The user's access token. */
    get token() {
      return token
    },
    get backend() {
      return system.backends[options.backend]
    },
  }
}

async function startBackend(name: BackendName): Promise<Omit<Backend, 'verifier'>> {
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
  const backend: Omit<Backend, 'verifier'> = {
    url: await listen(server),
    requests: [],
    respond: undefined,
    server,
  }
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
