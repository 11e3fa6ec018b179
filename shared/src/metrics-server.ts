import { createServer, type Server } from 'node:http'
import { collectDefaultMetrics, type Registry } from 'prom-client'

/**
 * Serves `GET /metrics` (Prometheus' text format) on a port of its own, which only operators reach. Resolves when
 * it listens; rejects when the port is taken.
 */
export async function serveMetrics(
  registry: Registry,
  { host, port }: { host: string; port: number },
): Promise<Server> {
  collectDefaultMetrics({ register: registry })
  const server = createServer((req, res) => {
    if (req.url?.split('?', 1)[0] !== '/metrics') return void res.writeHead(404).end()
    if (req.method !== 'GET') return void res.writeHead(405, { allow: 'GET' }).end()
    registry.metrics().then(
      (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => res.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => resolve())
  })
  return server
}
