import { Agent, type ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '@parley/shared/addresses'
import type { Caller } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { Problem, sendProblem } from '@parley/shared/problem'
import type { Request, RequestHandler, Response } from 'express'
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware'
import type { Instances } from './instances.ts'
import { outgoingHeaders, stripResponseHeaders } from './outgoing-headers.ts'
import { createUpstreamSlots, type SlotLimits, type UpstreamSlots } from './upstream-slots.ts'

/** What the earlier steps pass to {@link forwarding}. */
export interface Forwarding {
  target: URL
  /** The instances that the target is one of: it is skipped when it can't be reached. */
  instances: Pick<Instances, 'suspect'>
  /** Where the request comes from. */
  address: string
  internalToken: string | undefined
}

/** Callers whose token was verified are bounded apart from all others. */
export type CallerClass = 'anonymous' | 'authenticated'

const CONNECT_MS = 3_000
const MAX_FREE_SOCKETS = 128
const WAIT_MS = 10_000
// Each class has its own, so that requests without a token can't block requests with one.
const LIMITS: Record<CallerClass, SlotLimits> = {
  anonymous: { total: 256, perCaller: 192, waiting: 1_024, waitingPerCaller: 512, waitMs: WAIT_MS },
  authenticated: { total: 512, perCaller: 256, waiting: 2_048, waitingPerCaller: 1_024, waitMs: WAIT_MS },
}

class UpstreamTimeout extends Error {}

/**
 * Streams a request to `res.locals.forwarding.target` and the response back, over connections that are kept
 * alive. A service that can't be reached is 503, one that is silent for `timeoutMs` 504; a response that
 * breaks off cuts the caller's connection. Where a service has no room for a request within 10 s, that is 429 when the
 * caller's own requests are what fills it, else 503.
 */
export function forwarding(options: { timeoutMs: number; log: Log }): {
  middleware: RequestHandler
  close(): void
} {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: MAX_FREE_SOCKETS })
  const watching = watchForSilence(agent, options.timeoutMs)
  const proxy = createProxyMiddleware<Request, Response>({
    router: (_req, res) => forwardingOf(res).target,
    agent,
    changeOrigin: true,
    ejectPlugins: true,
    plugins: [events(options.log)],
  })
  const slotsOf = slotsByService()
  const middleware: RequestHandler = (req, res, next) => {
    const { address, internalToken, instances } = forwardingOf(res)
    const { name, key } = classOf(res)
    const go = (release: () => void) => {
      // A caller may hang up while it waits.
      if (res.destroyed || res.writableEnded) return release()
      res.once('close', release)
      req.headers = outgoingHeaders(req, { requestId: String(res.locals.requestId), address, internalToken })
      void proxy(req, res, next)
    }
    slotsOf(instances, name).take(key, { go, refuse: next })
  }
  const close = () => {
    clearInterval(watching)
    agent.destroy()
  }
  return { middleware, close }
}

/** The caller whose share of the limits a request takes: an API token, an account or an address. */
export function classOf({ locals }: { locals: Record<string, unknown> }): { name: CallerClass; key: string } {
  const caller = locals.caller as Caller | undefined
  if (caller === undefined)
    return { name: 'anonymous', key: addressKey((locals.forwarding as { address: string }).address) }
  const { token, account } = caller
  return { name: 'authenticated', key: token === undefined ? `account ${account._id}` : `token ${token}` }
}

/** The slots of each class at each service. */
function slotsByService(): (service: object, name: CallerClass) => UpstreamSlots {
  const slots = new WeakMap<object, Record<CallerClass, UpstreamSlots>>()
  return (service, name) => {
    let own = slots.get(service)
    if (own === undefined) {
      own = {
        anonymous: createUpstreamSlots(LIMITS.anonymous),
        authenticated: createUpstreamSlots(LIMITS.authenticated),
      }
      slots.set(service, own)
    }
    return own[name]
  }
}

/** Ends the request to the service, if it was sent. */
export function abandon({ locals }: { locals: Record<string, unknown> }): void {
  const proxyReq = locals.proxyReq as ClientRequest | undefined
  proxyReq?.destroy()
}

function forwardingOf(res: { locals: Record<string, unknown> } | undefined): Forwarding {
  return res?.locals.forwarding as Forwarding
}

function events(log: Log): Plugin<Request, Response> {
  return (server) => {
    server.on('proxyReq', (proxyReq, _req, res) => {
      res.locals.proxyReq = proxyReq
      if (proxyReq.socket?.connecting) limitConnect(proxyReq.socket)
    })
    server.on('proxyRes', (proxyRes, _req, res) => {
      stripResponseHeaders(proxyRes.headers)
      proxyRes.headers['cache-control'] ??= 'no-store'
      if (!res.shouldKeepAlive) proxyRes.headers.connection = 'close'
    })
    server.on('error', (error, req, res) => {
      if (req === undefined || res === undefined || !('locals' in res)) return
      sendError({ error, req, res, log })
    })
  }
}

/**
 * Cuts connections that are in use and on which nothing came or went for `timeoutMs`, give or take a twentieth. It
 * looks at all of them now and then: the agent's own `timeout`, which sets and takes away a timer and listeners for
 * each request, was a twelfth of what a request cost.
 */
function watchForSilence(agent: Agent, timeoutMs: number): NodeJS.Timeout {
  const seen = new WeakMap<Socket, { bytes: number; since: number }>()
  const look = () => {
    const now = performance.now()
    for (const socket of socketsIn(agent.freeSockets)) seen.delete(socket)
    for (const socket of socketsIn(agent.sockets)) {
      const bytes = socket.bytesRead + socket.bytesWritten
      const last = seen.get(socket)
      if (last?.bytes !== bytes) seen.set(socket, { bytes, since: now })
      else if (now - last.since >= timeoutMs) socket.destroy(new UpstreamTimeout())
    }
  }
  return setInterval(look, timeoutMs / 20).unref()
}

const socketsIn = (byHost: NodeJS.ReadOnlyDict<Socket[]>): Socket[] =>
  Object.values(byHost).flatMap((sockets) => sockets ?? [])

function connectTimeout(): Error {
  return Object.assign(new Error('the connection was not made in time'), { code: 'ETIMEDOUT' })
}

function limitConnect(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(connectTimeout()), CONNECT_MS)
  for (const event of ['connect', 'close'] as const) socket.once(event, () => clearTimeout(timer))
}

function sendError({ error, req, res, log }: { error: Error; req: Request; res: Response; log: Log }): void {
  if (res.destroyed || res.writableEnded) return
  const { target, instances } = forwardingOf(res)
  if (isUnreachable(error)) instances.suspect(target)
  log.warn(
    { requestId: res.locals.requestId, target: target.host, reason: error.message },
    'upstream failed: the caller got an error; see the log of that service',
  )
  if (res.headersSent) return void res.destroy()
  sendProblem(req, res, problemOf(error))
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'ETIMEDOUT'])

function isUnreachable(error: Error): boolean {
  return UNREACHABLE.has((error as NodeJS.ErrnoException).code ?? '')
}

function problemOf(error: Error): Problem {
  if (error instanceof UpstreamTimeout) return new Problem('upstream_timeout', { cause: error })
  const { code } = error as { code?: string }
  return new Problem(code?.startsWith('HPE_') ? 'bad_gateway' : 'unavailable', { cause: error })
}
