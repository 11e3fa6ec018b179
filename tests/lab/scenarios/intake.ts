// Kills broker, Redis and MongoDB while messages are posted, and counts every 200 against log and store.
//   npm run test:intake
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { killProcess } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { createLog } from '@parley/shared/log'
import { LOG_QUEUE, MESSAGES_EXCHANGE } from '@parley/shared/messaging/topology'
import { connectRedis } from '@parley/shared/redis'
import { connect } from 'amqplib'
import { z } from 'zod'
import { closedLoop } from '../load/loops.ts'
import { seconds } from '../report/table.ts'
import { killAtShares } from '../strike/kill-at-shares.ts'
import { openStore } from '../system/message-store.ts'
import { startOwnSystem } from '../system/own-system.ts'
import { registerWorkspace, type Workspace } from '../system/workspace.ts'
import { missing, outOfSequence, type PostedInput, repeats } from '../verdict/arrivals.ts'

const size = z.object({
  MESSAGES: integer({ min: 1_000, max: 1_000_000 }).default(20_000).describe('Messages of the load'),
  THREADS: integer({ min: 1, max: 500 }).default(50).describe('Over how many threads'),
  RATE: integer({ min: 10, max: 5_000 }).default(400).describe('Messages a second at most'),
})
const STORED_MS = 120_000
const RESPONSE_MS = 5_000
const RETRY_AFTER_MS = 1_000
const REPEATS = 10
/** When which server is killed, by the part of the load that was posted. */
const KILLS = [
  { at: 0.15, victim: 'rabbitmq' },
  { at: 0.4, victim: 'rabbitmq' },
  { at: 0.6, victim: 'redis' },
  { at: 0.8, victim: 'mongodb' },
]

/** One message of the load: what was sent, and what came of it. */
interface PostedMessage extends PostedInput {
  key: string
  /** 0 when no answer came. */
  status: number
  ms: number
}

const { MESSAGES, THREADS, RATE } = parseConfig(size, process.env)
const say = (line: string) => console.error(line)
const own = await startOwnSystem({ instances: {}, say })
const store = await openStore(own.servers.mongo.url)
try {
  const workspace = await registerWorkspace(own.system.gatewayUrl, 'intake')
  // No handler of that name exists, so each message ends where it is stored.
  await workspace.call('PUT', '/rest/channels/1', {
    ...{ name: 'Intake', description: '', extId: 'intake', hook: 'whatsapp', callback: 'rpc' },
    ...{ handlerUrl: 'native:agents/none', config: {} },
  })
  const posted: PostedMessage[] = []
  const load = postAll(workspace, posted)
  const kills = await killAtShares({
    ...{ kills: KILLS, say },
    progress: () => posted.length / MESSAGES,
    kill: (victim) => killProcess({ victim, runFile: own.runFile }),
  })
  await load
  const unconfirmed = posted.filter(({ status }) => status !== 200)
  const confirmed = posted.filter(({ status }) => status === 200)
  const slow = unconfirmed.filter(({ status, ms }) => status !== 503 || ms > RESPONSE_MS)
  await emptyRedis()
  const refused = await repeatAll(workspace, unconfirmed)
  const isStored = async () => missing(await store.inputs(), posted) === 0
  await waitUntil(isStored, { timeoutMs: STORED_MS, intervalMs: 2_000 })
  const log = await readLog(own.servers.rabbitmq.url)
  const stored = await store.inputs()
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
  console.table(
    kills.map(({ victim, readyAfterMs }) => ({
      killed: victim,
      'ready again after, s': seconds(readyAfterMs),
    })),
  )
  console.table({
    posted: posted.length,
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
  await store.close()
  await own.stop()
}

/**
 * Posts over so many threads, each one message after the other, `RATE` a second at most. What is not confirmed is left
 * behind; its thread goes on a second later. Each is in `posted` from when it is its turn.
 */
async function postAll(workspace: Workspace, posted: PostedMessage[]): Promise<void> {
  const run = Date.now().toString(36)
  const sequences = Array.from({ length: THREADS }, () => 0)
  let due = performance.now()
  await closedLoop({
    workers: THREADS,
    goesOn: (count) => count < MESSAGES,
    async send(_index, worker) {
      const [thread, sequence] = [`${run}-${worker}`, sequences[worker] ?? 0]
      sequences[worker] = sequence + 1
      const message = { thread, sequence, key: `${thread}-${sequence}`, status: 0, ms: 0 }
      posted.push(message)
      due = Math.max(due + 1_000 / RATE, performance.now() - 1_000)
      await pause(Math.max(0, due - performance.now()))
      await post(workspace, message)
      if (message.status !== 200) await pause(RETRY_AFTER_MS)
    },
  })
}

async function post(workspace: Workspace, message: PostedMessage): Promise<void> {
  const { thread, sequence, key } = message
  const body = { extId: 'intake', user: { phone: thread }, thread: { extId: thread }, answer: {} }
  const began = performance.now()
  const answer = await workspace
    .postMessage({ ...body, input: `${thread}/${sequence}` }, key)
    .catch(() => undefined)
  await answer?.arrayBuffer().catch(() => undefined)
  message.status = answer?.status ?? 0
  message.ms = performance.now() - began
}

/** Posts each again under its key, ten times at most; returns what was never answered with 200. */
async function repeatAll(workspace: Workspace, messages: PostedMessage[]): Promise<PostedMessage[]> {
  let left = messages.map((message) => ({ ...message }))
  for (let times = 0; times < REPEATS && left.length > 0; times++) {
    for (const message of left) await post(workspace, message)
    left = left.filter(({ status }) => status !== 200)
    if (left.length > 0) await pause(RETRY_AFTER_MS)
  }
  return left
}

async function emptyRedis(): Promise<void> {
  const redis = connectRedis(own.servers.redis.url, createLog({ service: 'intake', level: 'silent' }))
  await new Promise((resolve) => redis.once('ready', resolve))
  await redis.flushall()
  redis.disconnect()
}

/** The inputs of all messages in the log stream, in order, repeats included. */
async function readLog(amqpUrl: string): Promise<string[]> {
  const connection = await connect(amqpUrl)
  const channel = await connection.createConfirmChannel()
  const marker = randomUUID()
  channel.publish(MESSAGES_EXCHANGE, 'marker', Buffer.from('{}'), { messageId: marker, persistent: true })
  await channel.waitForConfirms()
  await channel.prefetch(500)
  const inputs: string[] = []
  await new Promise<void>((resolve) => {
    const take = (delivery: { content: Buffer; properties: { messageId?: string } } | null) => {
      if (delivery === null) return
      if (delivery.properties.messageId === marker) return resolve()
      inputs.push(JSON.parse(delivery.content.toString()).input)
      channel.ack(delivery as Parameters<typeof channel.ack>[0])
    }
    void channel.consume(LOG_QUEUE, take, { arguments: { 'x-stream-offset': 'first' } })
  })
  await connection.close()
  return inputs
}
