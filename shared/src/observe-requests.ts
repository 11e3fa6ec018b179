import { Histogram, type Registry } from 'prom-client'
import { type PendingResponse, pathOf, type ReceivedRequest } from './exchange.ts'
import type { Caller } from './internal-token.ts'
import type { Log } from './log.ts'
import { parseTraceparent, type Tracing, untraced } from './tracing.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Records a request when it ends: one duration in the metrics, one span, one line in the log. */
export type Observe = (req: ReceivedRequest, res: PendingResponse) => void

/** Registers the metric, so it is made once for each registry. */
export function createObserver(options: { log: Log; registry: Registry; tracing: Tracing }): Observe {
  const { log, registry, tracing } = options
  const observe = requestDurations(registry)
  const isTracing = tracing !== untraced
  return (req, res) => {
    const started = performance.now()
    const span = isTracing
      ? tracing.start(req.method ?? '', { kind: 'server', parent: traceparentOf(req) })
      : undefined
    // Whoever goes on with the work reads it from the request.
    if (span?.traceparent !== undefined) req.headers.traceparent = span.traceparent
    res.on('close', () => {
      const ms = performance.now() - started
      const { method = '' } = req
      const { statusCode: status } = res
      const route = routeOf(req, res)
      // An event stream lasts for as long as its reader likes.
      if (res.locals.isStream !== true || status !== 200)
        observe({ method, route, status, seconds: ms / 1_000 })
      if (log.isLevelEnabled('info')) log.info(line(req, res, ms), 'request')
      span?.end({
        name: `${method} ${route}`,
        attributes: {
          'http.request.method': method,
          'http.route': route,
          'http.response.status_code': status,
        },
        ...(status >= 500 ? { error: String(status) } : {}),
      })
    })
  }
}

function traceparentOf(req: ReceivedRequest): string | undefined {
  const { traceparent } = req.headers
  return typeof traceparent === 'string' ? traceparent : undefined
}

function line(req: ReceivedRequest, res: PendingResponse, ms: number): object {
  const caller = res.locals.caller as Caller | undefined
  return {
    requestId: res.locals.requestId,
    traceId: parseTraceparent(req.headers.traceparent)?.traceId,
    method: req.method,
    path: pathOf(req),
    status: res.statusCode,
    aborted: !res.writableFinished,
    ms: Math.round(ms * 10) / 10,
    workspace: caller?.workspace._id,
    account: caller?.account._id,
  }
}

/**
 * The pattern that a request matched, such as `/rest/channels/:id`; `unmatched` for what no route took. A handler
 * that failed has left its mount behind, so the mount is read from the path itself: it is as many segments as the
 * pattern does not cover.
 */
function routeOf(req: ReceivedRequest, res: PendingResponse): string {
  const named: unknown = res.locals.route
  if (typeof named === 'string') return named
  const pattern = (req as { route?: { path: unknown } }).route?.path
  if (typeof pattern !== 'string') return 'unmatched'
  const path = pathOf(req)
  if (path === pattern) return pattern
  const own = pattern.split('/').filter(Boolean)
  const whole = path.split('/').filter(Boolean)
  return `/${[...whole.slice(0, whole.length - own.length), ...own].join('/')}`
}

interface Observed {
  method: string
  route: string
  status: number
  seconds: number
}

/** Looks the labels up once: that is most of what an observation costs. */
function requestDurations(registry: Registry): (observed: Observed) => void {
  const histogram = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of requests, from their first byte to the last of the answer',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: SECONDS,
    registers: [registry],
  })
  const known = new Map<string, { observe(seconds: number): void }>()
  return ({ method, route, status, seconds }) => {
    const key = `${method} ${status} ${route}`
    let child = known.get(key)
    if (child === undefined) {
      child = histogram.labels(method, route, String(status))
      known.set(key, child)
    }
    child.observe(seconds)
  }
}
