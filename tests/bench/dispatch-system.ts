import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen } from '@parley/local/testing/service-under-test'
import { defined } from '@parley/shared/defined'
import { declareTopology, PARTITIONS, partitionQueue } from '@parley/shared/messaging/topology'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import { channelTo, dispatcherEnvironment } from '../dispatcher/dispatcher-environment.ts'
import { publishMessages } from '../dispatcher/publish-messages.ts'
import { onLastCore } from './own-core.ts'
import { startSink } from './sink.ts'

// Of the clock that Linux counts processor time by.
const TICKS_A_SECOND = 100

/** Servers, what a dispatcher asks, and an endpoint that takes every call at once. */
export type DispatchSystem = Awaited<ReturnType<typeof startDispatchSystem>>

export interface Runner {
  pid: number
  stop(signal?: NodeJS.Signals): Promise<void>
}

/**
 * `pinned`: what is run gets the last core for itself. `channelOf` and, for any other document, `documentOf` answer what is
 * asked of configuration.
 */
export async function startDispatchSystem({
  pinned,
  channelOf = (_url, sinkUrl) => channelTo(sinkUrl),
  documentOf = () => ({}),
}: {
  pinned: boolean
  channelOf?: (url: string, sinkUrl: string) => object
  documentOf?: (url: string) => object
}) {
  const directory = await mkdtemp(join(tmpdir(), 'parley-bench-'))
  const servers = await startServers({ directory, say: console.error })
  const AMQP_URL = servers.rabbitmq.url
  const database = `bench_dispatch_${randomUUID().slice(0, 8)}`
  const sink = await startSink()
  const inner = await listen((req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' })
    const { url = '' } = req
    res.end(
      JSON.stringify(url.includes('/channels') ? { data: [channelOf(url, sink.url)] } : documentOf(url)),
    )
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
          ...dispatcherEnvironment({
            mongoUrl: servers.mongo.url,
            amqpUrl: AMQP_URL,
            redisUrl: servers.redis.url,
            database,
            innerUrl: inner.url,
          }),
          ...environment,
        },
        nodeArgs,
      ),
    /** Starts the bare loop of consume, POST and ack. */
    startBare: () => run('tests/bench/bare-amqplib-post.ts', { SINK_URL: sink.url }),
    /** Starts a script of the benchmarks. */
    startScript: (name: string, environment: Record<string, string>) =>
      run(`tests/bench/${name}`, { SINK_URL: sink.url, ...environment }),
    /** Queues messages, confirmed, in turn for each of the threads; in the log, too, unless told. With `input` they need an agent. */
    fill: (options: Filling) => fill(AMQP_URL, options),
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

interface Filling {
  messages: number
  threads: string[]
  prefix: string
  logged?: boolean
  input?: string
}

async function fill(url: string, options: Filling): Promise<void> {
  const { messages, threads, prefix, logged = true, input } = options
  const connection = await connect(url, { noDelay: true })
  const channel = await connection.createConfirmChannel()
  function* all() {
    for (let n = 0; n < messages; n++)
      yield { messageId: `${prefix}-${n}`, thread: threads[n % threads.length] ?? '', ...defined({ input }) }
  }
  await publishMessages(channel, all(), { logged })
  await connection.close()
}

/** What a process has used of processors so far, in seconds, its threads included. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND
}

/** The memory that a process has at the moment, in KiB. */
export function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The same in MiB. */
export function residentMib(pid: number): number {
  return Math.round(residentKib(pid) / 1024)
}
