import { randomUUIDv7 } from 'node:crypto'
import type { RequestListener } from 'node:http'
import express, { type Express, type RequestHandler } from 'express'
import { Gauge, type Registry } from 'prom-client'
import type { PendingResponse, ReceivedRequest } from './exchange.ts'
import type { Caller, InternalVerifier, ServiceName } from './internal-token.ts'
import type { Log } from './log.ts'
import { createObserver, type Observe } from './observe-requests.ts'
import { Problem, problemHandler } from './problem.ts'
import type { Tracing } from './tracing.ts'
import { withTimeout } from './with-timeout.ts'

/** For each dependency, whether it answers; a check that throws counts as `false`. */
type ReadinessChecks = Record<string, () => Promise<boolean>>

/** The dependencies of a process. */
export interface Readiness {
  /** Without one of these it can't do its own work, and is not ready. */
  required: ReadinessChecks
  /** Without one of these it is degraded: ready, because another instance would do no better. */
  optional?: ReadinessChecks
  /** How long what is optional may take to answer, in milliseconds; 1,000 when left out. */
  optionalMs?: number
}

/** An Express app, or a listener in front of one, with the state and the routes of that. */
export type ServiceApp = RequestListener & Pick<Express, 'locals' | 'router'>

/** A wired service: the app, what it depends on, and how to let go of it. */
export interface Service {
  app: ServiceApp
  /** The metrics of `/metrics`. */
  registry: Registry
  /** Ends the responses that do not end by themselves, when the process begins to stop; it begins no further ones. */
  endStreams?(): void
  /** Some of its requests are files, which take longer to come than others may. */
  takesUploads?: true
  /** Flushes what is in flight and closes every connection. */
  close(): Promise<void>
}

const REQUIRED_MS = 4_000
// Short, so that a probe is answered in time while what the process can do without is unavailable.
const OPTIONAL_MS = 1_000

/**
 * The Express app that every process starts from: request id; health; a log line, a metric and a span per
 * request; then the routes, then 404 and the error handler.
 */
export function createApp(options: {
  log: Log
  registry: Registry
  tracing: Tracing
  readiness: Readiness
  /** Where requests that do not pass the app are observed too; one of its own when left out. */
  observe?: Observe
  routes(app: Express): void
}): Express {
  const { log, registry, tracing, observe = createObserver({ log, registry, tracing }) } = options
  const app = express()
  app.disable('x-powered-by')
  app.set('etag', false)
  app.set('query parser', 'simple')
  app.set('case sensitive routing', true)
  // A response with a tag is compared with it where it is sent; of the rest Express would take any `*` for known.
  Object.defineProperty(app.request, 'fresh', { value: false })
  const states = shared(() => statesOf(options.readiness))
  showReadiness(registry, states)
  app.locals.isReady = async () => canWork(await states())
  app.use((req, res, next) => {
    nameRequest(req, res)
    next()
  })
  app.get('/health/live', (_req, res) => {
    if (app.locals.stopping) res.status(503)
    res.json({ status: app.locals.stopping ? 'stopping' : 'live' })
  })
  app.get('/health/ready', readinessHandler(states))
  // Probes would drown the rest.
  app.use((req, res, next) => {
    observe(req, res)
    next()
  })
  options.routes(app)
  app.use(() => {
    throw new Problem('not_found')
  })
  app.use(problemHandler(log))
  return app
}

const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** Gives a request its id, the caller's where that is sane. Refuses one that does not name exactly one host. */
export function nameRequest(req: ReceivedRequest, res: PendingResponse): void {
  const sent = req.headers['x-request-id']
  // In the sequence of time, so that an index by it grows at its end.
  const id = typeof sent === 'string' && SANE_REQUEST_ID.test(sent) ? sent : randomUUIDv7()
  req.headers['x-request-id'] = id
  res.locals.requestId = id
  res.setHeader('x-request-id', id)
  res.setHeader('x-content-type-options', 'nosniff')
  requireHost(req)
}

/** One host is named in every request of HTTP/1.1, and never two, of which each reader may take another. */
function requireHost({ rawHeaders, httpVersion }: ReceivedRequest): void {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) if (isHost(rawHeaders[at])) hosts++
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) throw new Problem('malformed_request')
}

function isHost(name = ''): boolean {
  return name.length === 4 && name.toLowerCase() === 'host'
}

/**
 * 200 when all that is required answers within 4 s, else 503; `degraded` when something optional does not in its time.
 * The body names each dependency as `up` or `down`.
 */
function readinessHandler(statesOfAll: () => Promise<DependencyState[]>): RequestHandler {
  return async (req, res) => {
    const states = await statesOfAll()
    const ready = !req.app.locals.stopping && canWork(states)
    const status = !ready ? 'not ready' : states.every(({ isUp }) => isUp) ? 'ready' : 'degraded'
    const dependencies = Object.fromEntries(states.map(({ name, isUp }) => [name, isUp ? 'up' : 'down']))
    res.set('cache-control', 'no-store')
    if (!ready) res.set('retry-after', '1')
    res.status(ready ? 200 : 503).json({ status, dependencies })
  }
}

/** The same answers as metrics, asked for whenever they are read. */
function showReadiness(registry: Registry, statesOfAll: () => Promise<DependencyState[]>): void {
  new Gauge({
    name: 'parley_dependency_up',
    help: 'Whether what the process depends on answers: 1 or 0',
    labelNames: ['dependency'],
    registers: [registry],
    async collect() {
      const states = await statesOfAll()
      for (const { name, isUp } of states) this.labels(name).set(isUp ? 1 : 0)
      ready.set(canWork(states) ? 1 : 0)
    },
  })
  const ready = new Gauge({
    name: 'parley_ready',
    help: 'Whether the process has all that it needs for its own work: 1 or 0',
    registers: [registry],
  })
}

interface DependencyState {
  name: string
  required: boolean
  isUp: boolean
}

/** Shares one run of `work` between all who ask while it is under way: anybody may ask whether the system is ready. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

const canWork = (states: readonly DependencyState[]): boolean =>
  states.every(({ required, isUp }) => isUp || !required)

function statesOf({
  required,
  optional = {},
  optionalMs = OPTIONAL_MS,
}: Readiness): Promise<DependencyState[]> {
  const ask = (checks: ReadinessChecks, bound: { required: boolean; timeoutMs: number }) =>
    Object.entries(checks).map(async ([name, check]) => ({
      name,
      required: bound.required,
      isUp: await responds(check, bound.timeoutMs),
    }))
  return Promise.all([
    ...ask(required, { required: true, timeoutMs: REQUIRED_MS }),
    ...ask(optional, { required: false, timeoutMs: optionalMs }),
  ])
}

async function responds(check: () => Promise<boolean>, timeoutMs: number): Promise<boolean> {
  try {
    return await withTimeout(timeoutMs, check())
  } catch {
    return false
  }
}

/** Lets only requests through that the gateway makes for an account; the account is then {@link callerOf}. */
export function requireCaller(verifier: InternalVerifier): RequestHandler {
  return (req, res, next) => {
    const { caller } = verifier.verify(req.headers.authorization)
    if (caller === undefined) throw new Problem('unauthenticated')
    res.locals.caller = caller
    next()
  }
}

/** Lets only the named services through, speaking for themselves. */
export function requireService(verifier: InternalVerifier, ...names: ServiceName[]): RequestHandler {
  return (req, _res, next) => {
    const { issuer } = verifier.verify(req.headers.authorization)
    if (!names.includes(issuer)) throw new Problem('forbidden')
    next()
  }
}

/** The verified account behind a request that passed {@link requireCaller}. */
export function callerOf(res: { locals: Record<string, unknown> }): Caller {
  return res.locals.caller as Caller
}
