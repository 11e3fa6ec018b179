import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen, makeServiceKeys, namedSecret } from '@parley/local/testing/service-under-test'
import { declareTopology, MESSAGES_EXCHANGE, PARTITIONS, partitionQueue } from '@parley/shared/broker'
import { messagePublication, type Provenance } from '@parley/webhook/publication'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import { onLastCore } from './own-core.ts'
import { startSink } from './sink.ts'

const IN_FLIGHT = 1_000
const WORKSPACE = 1
// Of the clock that Linux counts processor time by.
const TICKS_A_SECOND = 100

/** Servers, what a dispatcher asks, and an endpoint that takes every call at once. */
export type DispatchSystem = Awaited<ReturnType<typeof startDispatchSystem>>

export interface Runner {
  pid: number
  stop(signal?: NodeJS.Signals): Promise<void>
}

/** `pinned`: what is run gets the last core for itself. */
export async function startDispatchSystem({ pinned }: { pinned: boolean }) {
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const servers = await startServers({ directory, say: console.error })
  const AMQP_URL = servers.rabbitmq.url
  const database = `bench_dispatch_${randomUUID().slice(0, 8)}`
  const keys = makeServiceKeys()
  const secrets = { SIGNING_SECRET: Buffer.alloc(32, 7).toString('base64'), SECRET_KEYS: namedSecret('k1') }
  const sink = await startSink()
  const inner = await listen((req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(req.url?.includes('/channels') ? { data: [channelTo(sink.url)] } : {}))
  })
  const running = new Set<Runner>()
  const run = (script: string, environment: Record<string, string>, nodeArgs: string[] = []) => {
    const args = [...nodeArgs, join(CHECKOUT, script)]
    const [command, all] = pinned ? onLastCore(args) : [process.execPath, args]
    const runner = runnerOf(
      spawn(command, all, {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, AMQP_URL, ...environment },
      }),
    )
    running.add(runner)
    return runner
  }
  const client = await mongoose.mongo.MongoClient.connect(servers.mongo.url)
  const system = {
    servers,
    sink,
    messages: client.db(database).collection<{ _id: string; open?: true; state: string }>('messages'),
    /** Starts a dispatcher; it is at work as soon as it is up. */
    startDispatcher: (environment: Record<string, string> = {}, nodeArgs: string[] = []) =>
      run(
        'services/dispatcher/src/server.ts',
        {
          ...{ PORT: '0', LOG_LEVEL: 'warn', MONGO_URL: servers.mongo.url, MONGO_DATABASE: database },
          ...{ SERVICE_KEY: JSON.stringify(keys.own.dispatcher), SERVICE_JWKS: JSON.stringify(keys.jwks) },
          ...{ REDIS_URL: servers.redis.url, GATEWAY_URL: inner.url, WEBHOOK_URL: inner.url },
          ...{ IDENTITY_URL: inner.url, CONFIGURATION_URL: inner.url, ...secrets },
          ...{ ALLOWED_PRIVATE_TARGETS: '127.0.0.0/8,::1/128', ...environment },
        },
        nodeArgs,
      ),
    /** Starts the bare loop of consume, POST and ack. */
    startBare: () => run('tests/bench/bare-amqplib-post.ts', { SINK_URL: sink.url }),
    /** Queues messages, confirmed, in turn for each of the threads. */
    fill: (options: { messages: number; threads: string[]; prefix: string }) => fill(AMQP_URL, options),
    /** Empties the queues of all partitions. */
    async purge() {
      const connection = await connect(AMQP_URL)
      const channel = await connection.createChannel()
      await declareTopology(channel)
      for (let partition = 0; partition < PARTITIONS; partition++)
        await channel.purgeQueue(partitionQueue(partition))
      await connection.close()
    },
    async stop() {
      await Promise.all([...running].map((runner) => runner.stop('SIGKILL')))
      await system.purge()
      await client.db(database).dropDatabase()
      await client.close()
      await inner.close()
      await sink.close()
      await servers.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
  await system.purge()
  return system
}

function runnerOf(child: ChildProcess): Runner {
  const gone = once(child, 'exit')
  return {
    pid: child.pid ?? 0,
    stop: async (signal = 'SIGTERM') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal)
      await gone
    },
  }
}

async function fill(
  url: string,
  { messages, threads, prefix }: { messages: number; threads: string[]; prefix: string },
): Promise<void> {
  const connection = await connect(url, { noDelay: true })
  const channel = await connection.createConfirmChannel()
  const provenance: Provenance = {
    workspace: WORKSPACE,
    source: 'api',
    channelId: undefined,
    requestId: 'bench',
    traceparent: undefined,
  }
  for (let next = 0; next < messages; next++) {
    const thread = threads[next % threads.length] ?? ''
    const message = messageIn(thread)
    const body = Buffer.from(JSON.stringify(message))
    const messageId = `${prefix}-${next}`
    const { routingKey, type, headers } = messagePublication({ messageId, message, body, provenance })
    const timestamp = Math.floor(Date.now() / 1_000)
    const properties = { messageId, type, headers, timestamp, contentType: 'application/json' }
    channel.publish(MESSAGES_EXCHANGE, routingKey, body, { ...properties, persistent: true })
    if (next % IN_FLIGHT === IN_FLIGHT - 1) await channel.waitForConfirms()
  }
  await channel.waitForConfirms()
  await connection.close()
}

const messageIn = (thread: string) => ({
  extId: 'line',
  user: { name: 'João', phone: '5511999990000', ctx: {} },
  thread: { extId: thread, ctx: {} },
  answer: { message: 'Olá! A sua encomenda saiu para entrega.', functions: [] },
})

function channelTo(callbackUrl: string): object {
  const config = { callbackUrl: `${callbackUrl}/callback` }
  return {
    ...{ _id: 1, version: 1, name: 'Line', description: '', extId: 'line' },
    ...{ hook: 'rpc', callback: 'rpc', handlerUrl: 'native:agents/echo', config },
  }
}

/** What a process has used of processors so far, in seconds, its threads included. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** The memory that a process has at the moment, in MiB. */
export function residentMib(pid: number): number {
  const kib = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}
