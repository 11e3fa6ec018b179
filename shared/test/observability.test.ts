import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { waitUntil } from '@parley/local/wait-until'
import { createTracing } from '@parley/shared/create-tracing'
import { createLog } from '@parley/shared/log'
import { serveMetrics } from '@parley/shared/metrics-server'
import { createApp } from '@parley/shared/service-app'
import { parseTraceparent, type Tracing, untraced } from '@parley/shared/tracing'
import { Router } from 'express'
import { Registry } from 'prom-client'
import { z } from 'zod'

const HOST = '127.0.0.1'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`

const exported = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
            }),
          ),
        }),
      ),
    }),
  ),
})

async function bodyOf(req: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of req) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('a process that is observed', () => {
  const spans: z.output<typeof exported>['resourceSpans'][0]['scopeSpans'][0]['spans'] = []
  const collector = createServer(async (req, res) => {
    const { resourceSpans } = exported.parse(JSON.parse((await bodyOf(req)).toString()))
    spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)))
    res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  const registry = new Registry()
  const seen: unknown[] = []
  let tracing: Tracing
  let baseUrl = ''
  let metricsUrl = ''
  const closing: { close(): unknown }[] = [collector]

  beforeAll(async () => {
    await new Promise<void>((resolve) => collector.listen(0, HOST, resolve))
    const endpoint = `http://${HOST}:${(collector.address() as AddressInfo).port}`
    tracing = await createTracing('test', {
      OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
      OTEL_TRACES_SAMPLER_ARG: 1,
    })
    const app = createApp({
      registry,
      tracing,
      log: createLog({ service: 'test', level: 'silent' }),
      readiness: {
        required: { here: async () => true },
        optional: { unavailable: async () => Promise.reject(new Error('unavailable')) },
      },
      routes: (express) => {
        const things = Router()
        things.get('/:id', (req, res) => {
          seen.push(req.headers.traceparent)
          res.json({ id: req.params.id })
        })
        things.get('/:id/broken', () => {
          throw new Error('broken')
        })
        express.use('/rest/things', things)
      },
    })
    const server = app.listen(0, HOST)
    await new Promise((resolve) => server.once('listening', resolve))
    baseUrl = `http://${HOST}:${(server.address() as AddressInfo).port}`
    const metrics = await serveMetrics(registry, { host: HOST, port: 0 })
    metricsUrl = `http://${HOST}:${(metrics.address() as AddressInfo).port}/metrics`
    closing.push(server, metrics)
  })

  afterAll(async () => {
    await tracing.close()
    for (const each of closing) await each.close()
  })

  const metric = async (line: string) => (await (await fetch(metricsUrl)).text()).split('\n').includes(line)

  test('counts requests by the pattern they matched, never by what callers wrote', async () => {
    for (const path of ['/rest/things/1', '/rest/things/2', '/rest/things/3/broken', '/rest/nothing/4'])
      await (await fetch(`${baseUrl}${path}`)).arrayBuffer()
    const count = (route: string, status: number, n: number) =>
      metric(
        `http_server_request_duration_seconds_count{http_request_method="GET",http_route="${route}",http_response_status_code="${status}"} ${n}`,
      )
    expect(await count('/rest/things/:id', 200, 2)).toBe(true)
    expect(await count('/rest/things/:id/broken', 500, 1)).toBe(true)
    expect(await count('unmatched', 404, 1)).toBe(true)
  })

  test('says how long its event loop was busy at a time, since that was last read', async () => {
    const longest = async () => {
      const text = await (await fetch(metricsUrl)).text()
      return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1])
    }
    const isSeen = async () => {
      const until = performance.now() + 200
      while (performance.now() < until);
      return (await longest()) > 0.1
    }
    // Time after a read counts for the next measurement.
    expect(await eventually(isSeen)).toBe(true)
    expect(await longest()).toBeLessThan(0.1)
  })

  test('says which dependency is unavailable', async () => {
    expect(await metric('parley_dependency_up{dependency="here"} 1')).toBe(true)
    expect(await metric('parley_dependency_up{dependency="unavailable"} 0')).toBe(true)
    expect(await metric('parley_ready 1')).toBe(true)
    const response = await fetch(`${baseUrl}/health/ready`)
    expect([response.status, await response.json()]).toEqual([
      200,
      { status: 'degraded', dependencies: { here: 'up', unavailable: 'down' } },
    ])
  })

  test('serves nothing but the metrics there', async () => {
    expect((await fetch(new URL('/rest/things/1', metricsUrl))).status).toBe(404)
    expect((await fetch(metricsUrl, { method: 'POST' })).status).toBe(405)
  })

  test("goes on with the caller's trace, and hands its own span to what comes after", async () => {
    const response = await fetch(`${baseUrl}/rest/things/5`, { headers: { traceparent: PARENT } })
    await response.arrayBuffer()
    const received = parseTraceparent(seen.at(-1))
    expect(received?.traceId).toBe(TRACE)
    await tracing.close()
    const mine = () => spans.find(({ spanId }) => spanId === received?.spanId)
    expect(await waitUntil(() => mine() !== undefined, { timeoutMs: 30_000 })).toBe(true)
    expect(mine()).toMatchObject({
      traceId: TRACE,
      parentSpanId: 'b7ad6b7169203331',
      name: 'GET /rest/things/:id',
    })
  })
})

describe('without an endpoint', () => {
  test("nothing is traced, and a caller's trace goes on as it is", async () => {
    const tracing = await createTracing('test', { OTEL_TRACES_SAMPLER_ARG: 1 })
    expect(tracing).toBe(untraced)
    expect(tracing.start('x', { kind: 'client', parent: PARENT }).traceparent).toBe(PARENT)
  })
})

test.each([
  undefined,
  'x',
  '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-b7ad6b7169203331-01`,
])('%s is no traceparent', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})
