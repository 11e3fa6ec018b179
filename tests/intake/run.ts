import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isReady } from '@parley/local/demo/running-system'
import { startReaper } from '@parley/local/processes/owned'
import { choosePorts } from '@parley/local/servers/choose-ports'
import type { Server } from '@parley/local/servers/server'
import { type Servers, startServers } from '@parley/local/servers/start-servers'
import { startSystem } from '@parley/local/system/start-system'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { connectRedis } from '@parley/shared/redis'
import { z } from 'zod'
import { createPoster, type PostedLoad, type PostedMessage, startLoad } from './post-load.ts'
import { missing, outOfSequence, readLog, readStore, repeats } from './verify.ts'

const size = z.object({
  MESSAGES: integer({ min: 1_000, max: 1_000_000 }).default(20_000).describe('Messages of the load'),
  THREADS: integer({ min: 1, max: 500 }).default(50).describe('Over how many threads'),
  RATE: integer({ min: 10, max: 5_000 }).default(400).describe('Messages a second at most'),
})
const BACK_MS = 90_000
const STORED_MS = 120_000
const RESPONSE_MS = 5_000
const REPEATS = 10
/** When which server is killed, by the part of the load that was posted. */
const KILLS = [
  { at: 0.15, victim: 'rabbitmq' },
  { at: 0.4, victim: 'rabbitmq' },
  { at: 0.6, victim: 'redis' },
  { at: 0.8, victim: 'mongo' },
] as const

const { MESSAGES, THREADS, RATE } = parseConfig(size, process.env)
const say = (line: string) => console.error(line)
const directory = await mkdtemp(join(tmpdir(), 'parley-intake-'))
const reaper = startReaper({ directory, remove: true })
const servers = await startServers({ directory: join(directory, 'servers'), say })
const { gateway: port } = await choosePorts({
  file: join(directory, 'gateway-port.json'),
  names: ['gateway'],
  say,
})
const quiet = () => undefined
const system = await startSystem({ directory, port, servers, say: quiet, logLevel: 'silent' })
try {
  const token = await register()
  const poster = createPoster({ gatewayUrl: system.gatewayUrl, token, connections: THREADS })
  const run = Date.now().toString(36)
  const load = startLoad({ poster, run, messages: MESSAGES, threads: THREADS, rate: RATE })
  const kills = await killOneAfterAnother(load)
  await load.done
  const unconfirmed = load.posted.filter(({ status }) => status !== 200)
  const confirmed = load.posted.filter(({ status }) => status === 200)
  const slow = unconfirmed.filter(({ status, ms }) => status !== 503 || ms > RESPONSE_MS)
  await emptyRedis()
  const refused = await repeatAll(unconfirmed, poster.post)
  const dispatcher = { url: servers.mongo.url, database: 'dispatcher' }
  await waitUntil(
    async () => missing(await readStore(dispatcher.url, dispatcher.database), load.posted) === 0,
    {
      timeoutMs: STORED_MS,
      intervalMs: 2_000,
    },
  )
  poster.close()
  const log = await readLog(servers.rabbitmq.url)
  const stored = await readStore(dispatcher.url, dispatcher.database)
  const checks = {
    'confirmed, but not in the log stream': missing(log, confirmed),
    'confirmed, but not in the store': missing(stored, confirmed),
    'in the store more than once': repeats(stored),
    'confirmed, but out of order in the log stream': outOfSequence(log, confirmed),
    'confirmed, but out of order in the store': outOfSequence(stored, confirmed),
    'not confirmed and not answered 503 within 5 s': slow.length,
    'refused when repeated with their keys': refused.length,
    'repeated, but not in the store': missing(stored, unconfirmed),
  }
  console.table(kills)
  console.table({
    posted: load.posted.length,
    'answered 200': confirmed.length,
    'answered 503': unconfirmed.length,
    'in the log stream, repeats included': log.length,
    'in the store': stored.length,
    'slowest 503, ms': Math.round(Math.max(0, ...unconfirmed.map(({ ms }) => ms))),
  })
  console.table(checks)
  for (const { status, ms } of slow.slice(0, 5)) say(`answered ${status} after ${Math.round(ms)} ms`)
  const violated = Object.values(checks).some((count) => count > 0)
  console.log(violated ? 'Intake broke a promise: see the counts above 0.' : 'Intake did what it promises.')
  process.exitCode = violated ? 1 : 0
} finally {
  await system.stop()
  await servers.stop()
  await reaper.close()
  await rm(directory, { recursive: true, force: true })
}

async function register(): Promise<string> {
  const answer = await fetch(`${system.gatewayUrl}/api/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Intake',
      email: 'intake@example.com',
      phone: '1',
      password: crypto.randomUUID(),
      namespace: 'intake',
    }),
  })
  const { accessToken } = (await answer.json()) as { accessToken: string }
  // No handler of that name exists, so each message ends where it is stored.
  const channel = await fetch(`${system.gatewayUrl}/rest/channels/1`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
    body: JSON.stringify({
      name: 'Intake',
      description: '',
      extId: 'intake',
      hook: 'whatsapp',
      callback: 'rpc',
      handlerUrl: 'native:agents/none',
      config: {},
    }),
  })
  if (!channel.ok) throw new Error(`The channel could not be configured: ${await channel.text()}`)
  return accessToken
}

/** Kills each server outright when its part of the load is posted; the supervisor starts it again. */
async function killOneAfterAnother({ posted }: PostedLoad): Promise<object[]> {
  const table: object[] = []
  for (const { at, victim } of KILLS) {
    await waitUntil(async () => posted.length >= at * MESSAGES, { timeoutMs: 600_000, intervalMs: 20 })
    const server: Server = servers[victim satisfies keyof Omit<Servers, 'stop'>]
    const { pid } = server
    if (pid === undefined) throw new Error(`${server.name} is not a process of ours, so it can't be killed`)
    say(`${server.name} is killed after ${posted.length} messages`)
    const killedAt = performance.now()
    process.kill(pid, 'SIGKILL')
    const isBack = async () => server.pid !== pid && (await isReady(system.gatewayUrl))
    const back = await waitUntil(isBack, { timeoutMs: BACK_MS, intervalMs: 100 })
    const seconds = ((performance.now() - killedAt) / 1_000).toFixed(1)
    table.push({ killed: server.name, 'ready again after, s': back ? seconds : 'never' })
  }
  return table
}

async function emptyRedis(): Promise<void> {
  const redis = connectRedis(servers.redis.url, createLog({ service: 'intake', level: 'silent' }))
  await new Promise((resolve) => redis.once('ready', resolve))
  await redis.flushall()
  redis.disconnect()
}

/** Posts each again under its key, ten times at most; returns what was never answered with 200. */
async function repeatAll(
  messages: PostedMessage[],
  post: (message: PostedMessage) => Promise<void>,
): Promise<PostedMessage[]> {
  let left = messages.map((message) => ({ ...message }))
  for (let times = 0; times < REPEATS && left.length > 0; times++) {
    for (const message of left) await post(message)
    left = left.filter(({ status }) => status !== 200)
    if (left.length > 0) await pause(1_000)
  }
  return left
}
