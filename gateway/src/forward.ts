import { addressKey } from '@parley/shared/addresses'
import type { PendingResponse, ReceivedRequest } from '@parley/shared/exchange'
import { FairSlots, type SlotKey, type SlotLimits } from '@parley/shared/fair-slots'
import type { Caller } from '@parley/shared/internal-token'
import type { Log } from '@parley/shared/log'
import { Problem, sendProblem } from '@parley/shared/problem'
import type { ServiceCalls, Target } from '@parley/shared/service-calls'
import { createProxyMiddleware, type Plugin } from 'http-proxy-middleware'
import type { Instances } from './instances.ts'
import { outgoingHeaders } from './outgoing-headers.ts'
import { createUpstreamClient, type UpstreamClient } from './upstream-client.ts'

/** The facts that the earlier steps pass to {@link forwarding}. */
export interface Forwarding {
  target: Target
  /** The instances that the target is one of: it is skipped when it can't be reached. */
  instances: Pick<Instances, 'suspect'>
  /** Where the request comes from. */
  address: string
  internalToken: string | undefined
}

interface Forwarder {
  /** `refuse` hears why a request was not sent. */
  forward(req: ReceivedRequest, res: PendingResponse, refuse: (error: unknown) => void): void
  close(): Promise<void>
}

/** Callers whose token was verified are bounded apart from all others. */
export type CallerClass = 'anonymous' | 'authenticated'

const WAIT_MS = 10_000
/** An event stream has a comment every 15 s. */
const STREAM_SILENCE_MS = 60_000
// Each class has its own, so that requests without a token can't block requests with one. Who is alone, an address or a
// workspace, has a third: what it is spared of is there for whoever comes, however slow its requests are.
const LIMITS: Record<CallerClass, SlotLimits> = {
  anonymous: {
    ...{ of: 'requests', total: 576, each: [192], spare: 2 },
    queue: { total: 1_024, each: 512, ms: WAIT_MS },
  },
  authenticated: {
    ...{ of: 'requests', total: 768, each: [256, 192], spare: 2 },
    queue: { total: 2_048, each: 1_024, ms: WAIT_MS },
  },
}

/**
 * Streams a request to `res.locals.forwarding.target` and the response back. A service that can't be reached is 503,
 * one that is silent for `timeoutMs` 504; a response that breaks off cuts the caller's connection. Where a service has
 * no room for a request within 10 s, that is 429 when those of the caller's workspace are what fills it, else 503. Event
 * streams take no such room, and have connections of their own.
 */
export function forwarding(options: {
  timeoutMs: number
  calls: Pick<ServiceCalls, 'connect'>
  log: Log
}): Forwarder {
  const { timeoutMs, calls } = options
  const client = createUpstreamClient({ timeoutMs, silenceMs: timeoutMs, connect: calls.connect })
  const streams = createUpstreamClient({ timeoutMs, silenceMs: STREAM_SILENCE_MS, connect: calls.connect })
  const proxy = createProxyMiddleware<ReceivedRequest, PendingResponse>({
    router: (_req, res) => forwardingOf(res).target.origin,
    ejectPlugins: true,
    plugins: [through((res) => (res.locals.isStream === true ? streams : client)), reportErrors(options.log)],
  })
  const slotsOf = slotsByService()
  return {
    forward(req, res, refuse) {
      const { name, key } = classOf(res)
      const go = (release: () => void) => {
        // A caller may hang up while it waits.
        if (res.destroyed || res.writableEnded) return release()
        res.once('close', release)
        void proxy(req, res, refuse)
      }
      if (res.locals.isStream === true) return go(() => undefined)
      const slots = slotsOf(forwardingOf(res).instances, name)
      slots.wait(key, { go, refuse: (excess) => refuse(slots.problem(excess)) })
    },
    close: async () => {
      await Promise.all([client.close(), streams.close()])
    },
  }
}

/** Puts the client in the place of the middleware's own, which is its last step and has no name. */
function through(
  clientFor: (res: PendingResponse) => UpstreamClient,
): Plugin<ReceivedRequest, PendingResponse> {
  return (server) => {
    server.before('web', '', (request, response, _options, _server, _head, callback) => {
      const [req, res] = [request as ReceivedRequest, response as PendingResponse]
      const { target, address, internalToken } = forwardingOf(res)
      const requestId = String(res.locals.requestId)
      const headers = outgoingHeaders(req, { requestId, address, internalToken })
      const fail = (error: Error) => callback?.(error, req, res, target.origin)
      const end = clientFor(res).send({ target, headers, req, res, fail })
      res.locals.abandon = end
      res.once('close', end)
      return true
    })
  }
}

/** Whose share of the limits a request takes: a workspace's, and in it an account's, or an address's. */
export function classOf({ locals }: { locals: Record<string, unknown> }): {
  name: CallerClass
  key: SlotKey
} {
  const caller = locals.caller as Caller | undefined
  if (caller === undefined)
    return { name: 'anonymous', key: [addressKey((locals.forwarding as { address: string }).address)] }
  return { name: 'authenticated', key: [caller.workspace._id, caller.account._id] }
}

/** The slots of each class at each service. */
function slotsByService(): (service: object, name: CallerClass) => FairSlots {
  const slots = new WeakMap<object, Record<CallerClass, FairSlots>>()
  return (service, name) => {
    let own = slots.get(service)
    if (own === undefined) {
      own = {
        anonymous: new FairSlots(LIMITS.anonymous),
        authenticated: new FairSlots(LIMITS.authenticated),
      }
      slots.set(service, own)
    }
    return own[name]
  }
}

/** Ends the request to the service, and says whether it was sent. */
export function abandon({ locals }: { locals: Record<string, unknown> }): boolean {
  const end = locals.abandon as (() => void) | undefined
  end?.()
  return end !== undefined
}

function forwardingOf(res: { locals: Record<string, unknown> } | undefined): Forwarding {
  return res?.locals.forwarding as Forwarding
}

function reportErrors(log: Log): Plugin<ReceivedRequest, PendingResponse> {
  return (server) => {
    server.on('error', (error, req, res) => {
      if (req === undefined || res === undefined || !('locals' in res)) return
      sendUpstreamError({ error, req, res, log })
    })
  }
}

function sendUpstreamError({
  error,
  req,
  res,
  log,
}: {
  error: Error
  req: ReceivedRequest
  res: PendingResponse
  log: Log
}): void {
  if (res.destroyed || res.writableEnded) return
  const { target, instances } = forwardingOf(res)
  if (UNREACHABLE.has(codeOf(error))) instances.suspect(target)
  log.warn(
    { requestId: res.locals.requestId, target: target.host, reason: error.message },
    'upstream failed: the caller got an error; see the log of that service',
  )
  // Not the response, which may wait behind another one on its connection and would not end.
  if (res.headersSent) return void req.socket.destroy()
  sendProblem(req, res, problemOf(error))
}

const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
])
const SILENT = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const codeOf = (error: Error): string => (error as NodeJS.ErrnoException).code ?? ''

function problemOf(error: Error): Problem {
  const code = codeOf(error)
  if (SILENT.has(code)) return new Problem('upstream_timeout', { cause: error })
  const isNonsense = error.name === 'HTTPParserError' || code === 'UND_ERR_HEADERS_OVERFLOW'
  return new Problem(isNonsense ? 'bad_gateway' : 'unavailable', { cause: error })
}
