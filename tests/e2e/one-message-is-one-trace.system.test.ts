import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually, type Listening, listen } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'
import { parseTraceparent } from '@parley/shared/tracing'
import { z } from 'zod'

const attribute = z.object({ key: z.string(), value: z.looseObject({ stringValue: z.string().optional() }) })
const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: z.array(attribute) }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              kind: z.number(),
            }),
          ),
        }),
      ),
    }),
  ),
})

interface Exported {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string | undefined
  name: string
  kind: number
}

const spans: Exported[] = []
const calls: (string | undefined)[] = []
let collector: Listening
let endpoint: Listening
let system: Parley

beforeAll(async () => {
  collector = await listen((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      take(JSON.parse(Buffer.concat(chunks).toString()))
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  endpoint = await listen((req, res) => {
    calls.push(req.headers.traceparent as string | undefined)
    req.resume().on('end', () => res.writeHead(200).end())
  })
  system = await startParley({
    environment: {
      all: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8' },
    },
  })
})
afterAll(async () => {
  await endpoint.close()
  await collector.close()
})

function take(body: unknown): void {
  for (const { resource, scopeSpans } of exported.parse(body).resourceSpans) {
    const name = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
    for (const span of scopeSpans.flatMap((scope) => scope.spans)) spans.push({ service: name, ...span })
  }
}

const call = async (method: string, path: string, body: object, token = '') => {
  const answer = await fetch(system.url + path, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  })
  expect([path, answer.status]).toEqual([path, 200])
  return answer.json()
}

test("one posted message is one trace, from the gateway over the queue to the provider's call", async () => {
  const registration = {
    name: 'Ana',
    email: 'ana@example.com',
    phone: '1',
    password: 'p',
    namespace: 'traced',
  }
  const { accessToken } = z
    .object({ accessToken: z.string() })
    .parse(await call('POST', '/api/auth/register', registration))
  const channel = {
    name: 'Traced',
    description: '',
    extId: 'traced',
    hook: 'rpc',
    callback: 'rpc',
    handlerUrl: 'native:agents/echo',
    config: { callbackUrl: endpoint.url },
  }
  await call('PUT', '/rest/channels/1', channel, accessToken)
  const message = { extId: 'traced', user: {}, thread: { extId: 't' }, answer: { message: 'Olá' } }
  await call('POST', '/api/hooks/whatsapp', message, accessToken)
  const received = parseTraceparent(await eventually(() => calls[0]))
  // The remaining spans are exported when the processes close.
  await system.close()
  const ours = spans.filter(({ traceId }) => traceId === received?.traceId)
  const path: string[] = []
  for (let at = received?.spanId; at !== undefined; ) {
    const span = ours.find(({ spanId }) => spanId === at)
    path.unshift(`${span?.service}: ${span?.name.replace(/:s\d+$/, ':sN')} (${span?.kind})`)
    at = span?.parentSpanId || undefined
  }
  // Kinds: 2 server, 3 client, 4 producer, 5 consumer.
  expect(path).toEqual([
    'gateway: POST /api/hooks/whatsapp (2)',
    'webhook: POST /api/hooks/whatsapp (2)',
    'webhook: send messages:sN (4)',
    'dispatcher: process messages (5)',
    'dispatcher: POST rpc (3)',
  ])
})
