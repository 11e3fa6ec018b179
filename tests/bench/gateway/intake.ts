// Messages by the public door, beside the same posted to the webhook service itself.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { makeServiceKeys, namedSecret, untilReady } from '@parley/local/testing/service-under-test'
import { declareTestLayoutAt, TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { integer, parseConfig } from '@parley/shared/config'
import { createInternalSigner } from '@parley/shared/internal-token'
import { connect } from 'amqplib'
import { z } from 'zod'
import { asFastAsPossible, inTurns, requestBytes } from '../http-load.ts'
import { leaveLastCore, onLastCore } from '../own-core.ts'
import { listening, startProcesses } from '../processes.ts'
import { compare, median, report } from '../results.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(5).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 512 }).default(64).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
})
const registration = z.object({
  accessToken: z.string(),
  _id: z.number(),
  role: z.number(),
  account: z.object({ username: z.string(), name: z.string(), profile: z.number() }),
  workspace: z.object({ _id: z.number(), name: z.string(), namespace: z.string(), host: z.string() }),
})
const { DURATION, CONNECTIONS, RUNS } = parseConfig(size, process.env)
const PORTS = { identity: 18_451, webhook: 18_452, gateway: 18_453, configuration: 18_454 }
const PATH = '/api/hooks/whatsapp'
const LEAST = 0.5
const THREADS = 256
const urlOf = (name: keyof typeof PORTS) => `http://127.0.0.1:${PORTS[name]}`

leaveLastCore()
const directory = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const { run, stop } = startProcesses()
const servers = await startServers({ directory, say: console.error })
const keys = makeServiceKeys()
try {
  // No dispatcher is here to declare what messages are published to.
  await declareTestLayoutAt(servers.rabbitmq.url)
  const doors = await startAll()
  const perSecond: Record<keyof typeof doors, number[]> = { gateway: [], webhook: [] }
  for (let turn = -1; turn < RUNS; turn++) {
    for (const door of ['webhook', 'gateway'] as const) {
      const measured = await load(door, doors[door]())
      // The first turn warms up.
      if (turn >= 0) perSecond[door].push(measured)
    }
  }
  const shown = (values: number[]) => `${Math.round(median(values))}/s`
  console.log(`${shown(perSecond.gateway)} through the gateway, ${shown(perSecond.webhook)} without`)
  report({
    row: 'intake through the gateway, beside intake',
    parley: shown(perSecond.gateway),
    against: shown(perSecond.webhook),
    ...compare(perSecond.gateway, perSecond.webhook),
    reach: { least: LEAST },
  })
} finally {
  await stop()
  await servers.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** The system as far as messages need it; answers with the token that each door takes. */
async function startAll(): Promise<Record<'gateway' | 'webhook', () => string>> {
  const { url: MONGO_URL } = servers.mongo
  const REDIS_URL = servers.redis.url
  const environment = (name: keyof typeof PORTS) => ({
    ...{
      PORT: String(PORTS[name]),
      LOG_LEVEL: 'warn',
      REDIS_URL,
      MONGO_URL,
      MONGO_DATABASE: `bench_${name}`,
    },
    SERVICE_KEY: JSON.stringify(keys.own[name]),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
    IDENTITY_URL: urlOf('identity'),
    CONFIGURATION_URL: urlOf('configuration'),
    AMQP_URL: servers.rabbitmq.url,
  })
  const service = (name: 'identity' | 'webhook' | 'configuration', more: Record<string, string> = {}) =>
    run(process.execPath, [join(CHECKOUT, `services/${name}/src/server.ts`)], {
      ...environment(name),
      ...more,
    })
  service('identity', { PEPPERS: namedSecret('p'), KEY_ENCRYPTION_KEYS: namedSecret('k') })
  service('configuration')
  service('webhook')
  for (const name of ['identity', 'configuration', 'webhook'] as const) {
    await listening(urlOf(name))
    await untilReady(urlOf(name))
  }
  run(...onLastCore([join(CHECKOUT, 'gateway/src/server.ts')]), {
    ...environment('gateway'),
    WEBHOOK_URL: urlOf('webhook'),
    // Nothing here is asked of it.
    DISPATCHER_URL: urlOf('configuration'),
  })
  await listening(urlOf('gateway'))
  const registered = await register()
  const webhook = () => {
    const { _id, role, account, workspace } = registered
    const caller = {
      account: { _id, username: account.username, name: account.name, profile: account.profile, context: {} },
      workspace,
      role: { _id: role, name: 'WORKSPACE_ADMIN', version: 1 },
    }
    return createInternalSigner(keys.own.gateway).sign({ audience: 'webhook', caller })
  }
  return { gateway: () => registered.accessToken, webhook }
}

async function register() {
  const answer = await fetch(`${urlOf('gateway')}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Bench',
      email: 'bench@example.com',
      phone: '1',
      password: 'p',
      namespace: 'bench',
    }),
  })
  return registration.parse(await answer.json())
}

async function load(door: 'gateway' | 'webhook', token: string): Promise<number> {
  await emptyQueues()
  const requests = Array.from({ length: THREADS }, (_, thread) =>
    requestBytes({ path: PATH, headers: { authorization: `Bearer ${token}` }, body: bodyOf(thread) }),
  )
  const until = performance.now() + DURATION * 1_000
  const goesOn = () => performance.now() < until
  const { perSecond, failures } = await asFastAsPossible({
    port: PORTS[door],
    connections: CONNECTIONS,
    request: inTurns(requests),
    goesOn,
  })
  if (failures > 0) throw new Error(`${door} failed ${failures} requests`)
  return perSecond
}

function bodyOf(thread: number): string {
  return JSON.stringify({
    extId: 'support-line',
    user: { name: 'João', phone: `55119${thread}`, ctx: {} },
    thread: { extId: `thread-${thread}`, ctx: {} },
    answer: {
      message: 'Olá!',
      functions: [
        { name: 'callback', args: { template: 'welcome', variables: ['João'], language: 'pt_BR' } },
      ],
    },
  })
}

async function emptyQueues(): Promise<void> {
  const connection = await connect(servers.rabbitmq.url)
  const channel = await connection.createChannel()
  for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++)
    await channel.purgeQueue(testQueue(partition))
  await connection.close()
}
