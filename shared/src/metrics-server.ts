import { createServer, type RequestListener, type Server } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { ServerTls } from './server-tls.ts'

/**
 * Serves `GET /metrics` (Prometheus' text format) on a port of its own, which only operators reach. Resolves when
 * it listens; rejects when the port is taken.
 */
export async function serveMetrics(
  registry: Registry,
  { host, port, tls }: { host: string; port: number; tls?: ServerTls | undefined },
): Promise<Server> {
  collectProcessMetrics(registry)
  const listener: RequestListener = (req, res) => {
    if (req.url?.split('?', 1)[0] !== '/metrics') return void res.writeHead(404).end()
    if (req.method !== 'GET') return void res.writeHead(405, { allow: 'GET' }).end()
    registry.metrics().then(
      (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    )
  }
  const server = tls === undefined ? createServer(listener) : tls.createServer({}, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  return server
}

// prom-client has a timer of its own for each registry, whose least frequent setting this is: with its usual 10 ms an idle
// process was woken a hundred times a second for each.
const NEVER_MS = 2 ** 30
const RESOLUTION_MS = 50
let measuring: ReturnType<typeof monitorEventLoopDelay> | undefined

/** Collects prom-client's metrics of a process; the delay of its event loop is measured once for all registries of it. */
function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: NEVER_MS })
  const delays = measuring ?? monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  measuring = delays
  delays.enable()
  const figures = {
    min: () => delays.min,
    mean: () => delays.mean,
    stddev: () => delays.stddev + RESOLUTION_MS * 1e6,
    p50: () => delays.percentile(50),
    p90: () => delays.percentile(90),
    p99: () => delays.percentile(99),
    // The last one that is read.
    max: () => {
      const { max } = delays
      delays.reset()
      return max
    },
  }
  for (const [figure, read] of Object.entries(figures)) {
    const name = `nodejs_eventloop_lag_${figure}_seconds`
    registry.removeSingleMetric(name)
    new Gauge({
      name,
      help: `How late the event loop was, of what was measured each ${RESOLUTION_MS} ms since a metric was last read: ${figure}`,
      registers: [registry],
      collect() {
        this.set(delays.count === 0 ? 0 : Math.max(0, read() / 1e9 - RESOLUTION_MS / 1e3))
      },
    })
  }
}
