// Kills what outgoing events pass while messages and writes make them, and then counts what arrived.
import { setTimeout as pause } from 'node:timers/promises'
import { postThreads } from '@parley/local/demo/post-threads'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { connectRpc, planThread } from '../load/lines.ts'
import { startRpcSink } from '../load/received-messages.ts'
import { seconds } from '../report/table.ts'
import { kill } from '../strike/faults.ts'
import { startNetwork } from '../system/network.ts'
import { type FaultSystem, layoutConfig, startFaultSystem } from '../system/proxied-system.ts'
import { startEventReceiver } from '../system/receivers.ts'
import { registerWorkspace, type Workspace } from '../system/workspace.ts'
import { type Arrived, judgeEvents, nameOf } from '../verdict/events.ts'

const PER_THREAD = 10
const IN_FLIGHT = 16
const BETWEEN_MS = 4_000
const RECEIVER_DOWN_MS = 3_000
const SETTLED_MS = 150_000
const REPEAT_MS = 200
const READ_MS = 60_000
const VICTIMS = ['dispatcher', 'configuration', 'services', 'mongodb', 'rabbitmq'] as const

const messageData = z.looseObject({
  thread: z.string(),
  message: z.looseObject({
    answer: z.looseObject({
      functions: z.array(z.looseObject({ args: z.looseObject({ variables: z.array(z.string()) }) })),
    }),
  }),
})

const deliveryPage = z.object({
  data: z.array(
    z.looseObject({ _id: z.string(), attempts: z.array(z.looseObject({ outcome: z.string() })) }),
  ),
  next: z.string().nullable(),
})

const { MESSAGES, WRITES, RATE, TOGETHER } = parseConfig(
  z.object({
    MESSAGES: integer({ min: 10, max: 100_000 }).default(5_000).describe('Messages that are posted'),
    WRITES: integer({ min: 1, max: 10_000 }).default(500).describe('Writes to the configuration'),
    RATE: integer({ min: 10, max: 1_000 }).default(70).describe('Messages a second, at most'),
    ...layoutConfig,
  }),
  process.env,
)
const say = (line: string) => console.error(line)

const system = await startFaultSystem({
  say,
  together: TOGETHER,
  ...(process.env.LOG === undefined ? {} : { logFile: process.env.LOG }),
})
const sink = await startRpcSink()
const receiver = await startEventReceiver()
/** In front of the receiver, which is as good as killed where it is cut. */
const network = await startNetwork({ host: '127.0.0.1', ports: [Number(new URL(receiver.url).port)] })
const arrived = () => receiver.events.map(({ id, type, data }): Arrived => ({ id, type, ...placeOf(data) }))
try {
  const workspace = await registerWorkspace(system.gatewayUrl, 'faults-events')
  await connectRpc({ workspace, callbackUrl: sink.url, id: 1 })
  const subscription = z.looseObject({ _id: z.int(), signingSecret: z.string() }).parse(
    await workspace.call('POST', '/rest/subscriptions', {
      name: 'faults',
      url: `http://127.0.0.1:${network.port}/events`,
      events: [
        ...['message.received', 'message.sent', 'message.delivered'],
        ...['configuration.steps.created', 'configuration.steps.updated'],
      ],
    }),
  )
  receiver.secret = subscription.signingSecret
  const began = performance.now()
  const load = Promise.all([postMessages(workspace), writeSteps(workspace)])
  const state = { isOver: false }
  const over = load.finally(() => (state.isOver = true))
  const kills = await killAll(system, () => state.isOver)
  await over
  const loadedMs = performance.now() - began
  await system.ready()
  const expected = new Set([...expectedMessages(), ...expectedWrites()])
  const missing = () => {
    const names = new Set(arrived().map(nameOf))
    return [...expected].filter((name) => !names.has(name)).length
  }
  await waitUntil(() => missing() === 0, { timeoutMs: SETTLED_MS, intervalMs: 500 })
  const settledMs = performance.now() - began - loadedMs
  const retried = await retriedIn(workspace, subscription._id)
  const verdict = judgeEvents({ expected, arrived: arrived(), retried })
  console.table([
    {
      ...{ messages: MESSAGES, writes: WRITES, kills: kills.join(', '), expected: expected.size },
      ...{
        arrived: receiver.events.length,
        ...verdict,
        retried: retried.size,
        'bad signatures': receiver.refused,
      },
      ...{ 'load s': seconds(loadedMs), 'settled s': seconds(settledMs) },
    },
  ])
  if (verdict.lost + verdict.renamed + verdict.misplaced + receiver.refused > 0) process.exitCode = 1
} finally {
  await network.close()
  await receiver.close()
  await system.stop()
  await sink.close()
}

async function postMessages(workspace: Workspace): Promise<void> {
  const posted = await postThreads({
    ...{ threads: threads(), gateway: workspace, rate: RATE, inFlight: IN_FLIGHT },
    onAccepted: () => undefined,
  })
  const refused = posted.filter(({ acceptedAt }) => acceptedAt === undefined).length
  if (refused > 0) throw new Error(`${refused} messages were not accepted within a minute`)
}

function* threads() {
  for (let thread = 0; thread < MESSAGES / PER_THREAD; thread++)
    yield planThread({ run: 'events', thread, messages: PER_THREAD })
}

function* expectedMessages(): Iterable<string> {
  for (const thread of threads())
    for (const { key } of thread)
      for (const state of ['received', 'sent', 'delivered'])
        yield nameOf({ type: `message.${state}`, record: key })
}

function* expectedWrites(): Iterable<string> {
  for (let id = 1; id <= WRITES; id++)
    yield nameOf({ type: 'configuration.steps.created', record: `steps/${id}` })
}

/** Each of another step, sent again until it is answered with 200. */
async function writeSteps(workspace: Workspace): Promise<void> {
  const body = { name: 'x', description: '', instructions: '', submitWhen: '' }
  const spacing = (MESSAGES / RATE / WRITES) * 1_000
  for (let id = 1; id <= WRITES; id++) {
    for (;;) {
      const response = await workspace.request('PUT', `/rest/steps/${id}`, body).catch(() => undefined)
      await response?.arrayBuffer()
      if (response?.status === 200) break
      if (response !== undefined && response.status < 500 && response.status !== 429)
        throw new Error(`a write was answered with ${response.status}`)
      await pause(REPEAT_MS)
    }
    await pause(spacing / 2)
  }
}

/** Kills each in turn, and then again from the start, until the load is over; each at least once. */
async function killAll(system: FaultSystem, isOver: () => boolean): Promise<string[]> {
  const struck: string[] = []
  const receiverFault = {
    name: 'receiver',
    strike: async () => {
      network.cut()
      await pause(RECEIVER_DOWN_MS)
      network.mend()
    },
  }
  const victims = VICTIMS.filter((name) => system.targets.includes(name))
  const faults = [receiverFault, ...victims.map((name) => ({ ...kill(name), name }))]
  for (let round = 0; round < faults.length || !isOver(); round++) {
    const fault = faults[round % faults.length]
    if (fault === undefined) break
    await pause(BETWEEN_MS)
    await fault.strike({ system, phoneNumberIds: [] })
    struck.push(fault.name)
  }
  return struck
}

/** A message is named by the key that it was posted under. */
function placeOf(data: object): Omit<Arrived, 'id' | 'type'> {
  const { data: message } = messageData.safeParse(data)
  if (message === undefined) {
    const { resource, _id } = data as { resource?: string; _id?: number }
    return { record: `${resource}/${_id}` }
  }
  const sequence = message.message.answer.functions[0]?.args.variables[1]
  return { record: `${message.thread}-${sequence}`, line: message.thread, sequence: Number(sequence) }
}

/** The ids of the events that were tried more than once. */
async function retriedIn(workspace: Workspace, id: number): Promise<Set<string>> {
  const retried = new Set<string>()
  const until = performance.now() + READ_MS
  let after = ''
  for (;;) {
    const path = `/rest/subscriptions/${id}/deliveries?limit=200${after && `&after=${after}`}`
    const response = await workspace.request('GET', path).catch(() => undefined)
    if (response?.status !== 200) {
      await response?.arrayBuffer()
      if (performance.now() > until) throw new Error('the deliveries can not be read')
      await pause(REPEAT_MS)
      continue
    }
    const { data, next } = deliveryPage.parse(await response.json())
    for (const one of data) if (one.attempts.some(({ outcome }) => outcome === 'failed')) retried.add(one._id)
    if (next === null) return retried
    after = next
  }
}
