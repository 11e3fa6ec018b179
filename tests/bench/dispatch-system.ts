import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { CHECKOUT } from '@parley/local/checkout'
import { startServers } from '@parley/local/servers/start-servers'
import { listen } from '@parley/local/testing/service-under-test'
import { declareTestLayout, TEST_LAYOUT, testQueue } from '@parley/local/testing/test-layout'
import { defined } from '@parley/shared/defined'
import { connect } from 'amqplib'
import mongoose from 'mongoose'
import { inTemporaryState } from '../dispatch/temporary-state.ts'
import { channelTo, dispatcherEnvironment } from '../dispatcher/dispatcher-environment.ts'
import { publishMessages } from '../dispatcher/publish-messages.ts'
import { onLastCore } from './own-core.ts'
import { startProcesses } from './processes.ts'
import { startSink } from './sink.ts'

/** Servers, what a dispatcher asks, and an endpoint that takes every call at once. */
export type DispatchSystem = Awaited<ReturnType<typeof startDispatchSystem>>

/**
 * `pinned`: what is run gets the last core for itself. `channelOf` and, for any other document, `documentOf` answer what is
 * asked of configuration.
 */
export function startDispatchSystem({
  pinned,
  channelOf = (_url, sinkUrl) => channelTo(sinkUrl),
  documentOf = () => ({}),
}: {
  pinned: boolean
  channelOf?: (url: string, sinkUrl: string) => object
  documentOf?: (url: string) => object
}) {
  return inTemporaryState('bench', async ({ directory, stopLater }) => {
    const servers = await startServers({ directory, say: console.error })
    stopLater(servers.stop)
    const AMQP_URL = servers.rabbitmq.url
    const database = `bench_dispatch_${randomUUID().slice(0, 8)}`
    const sink = await startSink()
    stopLater(sink.close)
    const inner = await listen((req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      const { url = '' } = req
      const found = url.includes('/channels') ? { data: [channelOf(url, sink.url)] } : documentOf(url)
      res.end(JSON.stringify(found))
    })
    stopLater(inner.close)
    const client = await mongoose.mongo.MongoClient.connect(servers.mongo.url)
    stopLater(() => client.close())
    stopLater(() => client.db(database).dropDatabase())
    const purge = () => purgePartitions(AMQP_URL)
    stopLater(purge)
    await purge()
    const processes = startProcesses()
    stopLater(() => processes.stop('SIGKILL'))
    const run = (script: string, environment: Record<string, string>, nodeArgs: string[] = []) => {
      const args = [...nodeArgs, join(CHECKOUT, script)]
      const [command, all] = pinned ? onLastCore(args) : [process.execPath, args]
      return processes.run(command, all, { AMQP_URL, ...environment })
    }
    return {
      servers,
      sink,
      database: client.db(database),
      messages: client.db(database).collection<{ _id: string; open?: true; state: string }>('messages'),
      /** Starts a dispatcher; it is at work as soon as it is up. */
      startDispatcher: (environment: Record<string, string> = {}, nodeArgs: string[] = []) => {
        const [mongoUrl, redisUrl] = [servers.mongo.url, servers.redis.url]
        const urls = { mongoUrl, redisUrl, amqpUrl: AMQP_URL, innerUrl: inner.url }
        const own = { ...dispatcherEnvironment({ ...urls, database }), ...environment }
        return run('services/dispatcher/src/server.ts', own, nodeArgs)
      },
      /** Starts the bare loop of consume, POST and ack. */
      startBare: () => run('tests/bench/bare-amqplib-post.ts', { SINK_URL: sink.url }),
      /** Starts a script of the benchmarks. */
      startScript: (name: string, environment: Record<string, string>) =>
        run(`tests/bench/${name}`, { SINK_URL: sink.url, ...environment }),
      /**
       * Queues messages, confirmed, round robin over the threads; in the log, too, unless `logged` is false. With `input`
       * they need an agent.
       */
      fill: (options: Filling) => fill(AMQP_URL, options),
      /** Empties the queues of all partitions. */
      purge,
    }
  })
}

async function purgePartitions(url: string): Promise<void> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  await declareTestLayout(channel)
  for (let partition = 0; partition < TEST_LAYOUT.partitions; partition++)
    await channel.purgeQueue(testQueue(partition))
  await connection.close()
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
