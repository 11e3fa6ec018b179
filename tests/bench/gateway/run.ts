// The gateway beside other ways to put a token check in front of a service, each alone on a core.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { makeServiceKeys, namedSecret, untilReady } from '@parley/local/testing/service-under-test'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { asFastAsPossible, atRate, getBytes, inTurns, type Load } from '../http-load.ts'
import { leaveLastCore, onLastCore } from '../own-core.ts'
import { listening, outputOf, startProcesses } from '../processes.ts'
import { compare, median, report } from '../results.ts'
import { nginxCommand } from './nginx.ts'

const size = z.object({
  DURATION: integer({ min: 1, max: 60 }).default(4).describe('Seconds of one measurement'),
  CONNECTIONS: integer({ min: 1, max: 512 }).default(64).describe('Requests under way at a time'),
  RUNS: integer({ min: 1, max: 99 }).default(3).describe('How often each is measured, in turns'),
  RATE: integer({ min: 1, max: 20_000 }).default(1_000).describe('Requests a second of the latency rows'),
})
const { DURATION, CONNECTIONS, RUNS, RATE } = parseConfig(size, process.env)
const PEERS = ['fastify@5.12.8', '@fastify/http-proxy@11.6.3', 'undici@8.12.4', 'jsonwebtoken@9.0.3']
const PORTS = {
  upstream: 18_431,
  identity: 18_432,
  gateway: 18_433,
  tokenCheck: 18_434,
  nginx: 18_435,
  fastify: 18_436,
  bare: 18_437,
  undici: 18_438,
}
const PATH = '/rest/jobs'
const urlOf = (name: keyof typeof PORTS) => `http://127.0.0.1:${PORTS[name]}`

leaveLastCore()
const directory = mkdtempSync(join(tmpdir(), 'parley-bench-'))
const { run, stop } = startProcesses()
const servers = await startServers({ directory, say: console.error })
try {
  await measure(await startAll())
} finally {
  await stop()
  await servers.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** Everything that is compared, ready; answers with a bearer token that all of them take. */
async function startAll(): Promise<string> {
  const keys = makeServiceKeys()
  const environment = (name: 'gateway' | 'identity') => ({
    PORT: String(PORTS[name]),
    LOG_LEVEL: 'warn',
    REDIS_URL: servers.redis.url,
    SERVICE_KEY: JSON.stringify(keys.own[name]),
    SERVICE_JWKS: JSON.stringify(keys.jwks),
  })
  const node = (script: string, env: Record<string, string>) =>
    run(process.execPath, [join(CHECKOUT, script)], env)
  node('tests/bench/gateway/upstream.ts', { PORT: String(PORTS.upstream) })
  node('services/identity/src/server.ts', {
    ...environment('identity'),
    MONGO_URL: servers.mongo.url,
    PEPPERS: namedSecret('p'),
    KEY_ENCRYPTION_KEYS: namedSecret('k'),
  })
  await listening(urlOf('upstream'))
  await listening(urlOf('identity'))
  await untilReady(urlOf('identity'))
  run(...onLastCore([join(CHECKOUT, 'gateway/src/server.ts')]), {
    ...environment('gateway'),
    IDENTITY_URL: urlOf('identity'),
    ...Object.fromEntries(
      ['WEBHOOK', 'CONFIGURATION', 'DISPATCHER'].map((name) => [`${name}_URL`, urlOf('upstream')]),
    ),
  })
  await listening(urlOf('gateway'))
  const token = await register()
  await startPeers()
  return token
}

async function register(): Promise<string> {
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
  return z.object({ accessToken: z.string() }).parse(await answer.json()).accessToken
}

async function startPeers(): Promise<void> {
  const install = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--silent', ...PEERS]
  await outputOf('npm', install, {})
  cpSync(join(CHECKOUT, 'tests/bench/gateway/peers'), directory, { recursive: true })
  const JWKS = await (await fetch(`${urlOf('identity')}/.well-known/jwks.json`)).text()
  const peer = (script: string, port: number) =>
    run(...onLastCore([join(directory, script)]), { JWKS, PORT: String(port), UPSTREAM: urlOf('upstream') })
  peer('token-check.mjs', PORTS.tokenCheck)
  peer('fastify.mjs', PORTS.fastify)
  peer('bare-http.mjs', PORTS.bare)
  peer('undici.mjs', PORTS.undici)
  const [command, args] = await nginxCommand({
    directory,
    port: PORTS.nginx,
    upstreamPort: PORTS.upstream,
    tokenCheckPort: PORTS.tokenCheck,
  })
  run(...onLastCore(args, command), {})
  for (const name of ['tokenCheck', 'fastify', 'bare', 'undici', 'nginx'] as const)
    await listening(urlOf(name))
}

async function measure(token: string): Promise<void> {
  const request = inTurns([getBytes({ path: PATH, headers: { authorization: `Bearer ${token}` } })])
  const peers = {
    'nginx auth_request with a Node token check': { name: 'nginx', reach: { least: 0.9 } },
    '@fastify/http-proxy, tokens cached': { name: 'fastify', reach: { least: 1 } },
    'bare http.request, tokens cached': { name: 'bare', reach: { least: 0.8 } },
    'undici Pool.stream, tokens cached': { name: 'undici' },
  } as const
  const names = ['gateway', ...Object.values(peers).map(({ name }) => name)] as const
  const perSecond = new Map<string, number[]>(names.map((name) => [name, []]))
  for (let turn = -1; turn < RUNS; turn++) {
    for (const name of names) {
      const until = performance.now() + DURATION * 1_000
      const goesOn = () => performance.now() < until
      const load = { port: PORTS[name], connections: CONNECTIONS, request, goesOn }
      const measured = requireAll(name, await asFastAsPossible(load))
      // The first turn warms up.
      if (turn >= 0) perSecond.get(name)?.push(measured.perSecond)
    }
  }
  const ours = perSecond.get('gateway') ?? []
  const shown = (values: number[]) => `${Math.round(median(values))}/s`
  for (const [title, peer] of Object.entries(peers)) {
    const theirs = perSecond.get(peer.name) ?? []
    report({
      row: `gateway, one core, beside ${title}`,
      parley: shown(ours),
      against: shown(theirs),
      ...compare(ours, theirs),
      ...('reach' in peer ? { reach: peer.reach } : {}),
    })
  }
  console.table(
    Object.fromEntries(
      [...perSecond].map(([name, values]) => [
        name,
        { 'requests/s': shown(values), runs: values.map(Math.round).join(' ') },
      ]),
    ),
  )
  await latency(request)
}

/** What the gateway adds to the upstream alone, both at the same steady rate. */
async function latency(request: ReturnType<typeof inTurns>): Promise<void> {
  const at = async (name: 'gateway' | 'upstream') =>
    requireAll(
      name,
      await atRate({ port: PORTS[name], connections: CONNECTIONS, request, rate: RATE, seconds: DURATION }),
    )
  const rows: { gateway: Load; upstream: Load }[] = []
  for (let turn = 0; turn < RUNS; turn++)
    rows.push({ upstream: await at('upstream'), gateway: await at('gateway') })
  for (const part of ['p50', 'p99'] as const) {
    const added = rows.map(({ gateway, upstream }) => gateway[part] - upstream[part])
    const ms = (name: 'gateway' | 'upstream') => `${median(rows.map((row) => row[name][part])).toFixed(2)} ms`
    report({
      row: `gateway, ${part} added at ${RATE}/s, in ms`,
      parley: ms('gateway'),
      against: `upstream alone ${ms('upstream')}`,
      ratio: median(added),
      spread: [Math.min(...added), Math.max(...added)],
      ...(part === 'p50' ? { reach: { most: 0.6 } } : {}),
    })
    console.log(`${part} at ${RATE}/s: ${ms('gateway')} through the gateway, ${ms('upstream')} without`)
  }
}

function requireAll(name: string, load: Load): Load {
  if (load.failures > 0) throw new Error(`${name} failed ${load.failures} requests`)
  return load
}
