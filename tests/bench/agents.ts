// Measures conversations that wait for a model: memory, processor time for each turn, and the speed of other work.

import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { fill } from '../lab/load/publish.ts'
import { rateBetween, reportComparison, reportFigure } from '../lab/report/results.ts'
import { channelTo, startDispatchSystem } from '../lab/system/dispatch-system.ts'
import { cpuSeconds, leaveLastCore, type Runner, residentKib } from '../lab/system/processes.ts'
import { startSlowModel } from './slow-model.ts'

const size = z.object({
  CONVERSATIONS: integer({ min: 10, max: 2_048 })
    .default(2_000)
    .describe('Conversations that wait for the model at the same time'),
  EACH: integer({ min: 1, max: 100 }).default(3).describe('Messages of each, where turns are measured'),
  MESSAGES: integer({ min: 1_000, max: 1_000_000 }).default(64_000).describe('Templated messages of one run'),
  RUNS: integer({ min: 1, max: 20 }).default(3).describe('Runs of each'),
  // With four the machine's speed decided.
  SLICES: integer({ min: 2, max: 20 })
    .default(8)
    .refine((slices) => slices % 2 === 0, 'is an odd number')
    .describe('Parts of the templated messages of a run, for each kind'),
  MODEL_MS: integer({ min: 0, max: 30_000 }).default(5_000).describe('How long the model takes'),
})
const WAITING_MS = 60_000
const LOOK_MS = 500
const MOST_LOOKS = 60
const INPUT = 'Onde está a minha encomenda?'
const CHARACTER = { name: 'Ana', description: 'Answers customers', backstory: 'Knows every parcel.' }

const { CONVERSATIONS, EACH, MESSAGES, RUNS, SLICES, MODEL_MS } = parseConfig(size, process.env)
const people = Array.from({ length: CONVERSATIONS }, (_, n) => `person-${n}`)
const threads = Array.from({ length: 1_000 }, (_, n) => `thread-${n}`)

/** How fast messages go: by the clock, which the broker and the database share, and by the dispatcher's own processor time. */
interface Speed {
  rate: number
  perProcessorSecond: number
}

leaveLastCore()
const model = await startSlowModel(MODEL_MS)
const system = await startDispatchSystem({
  pinned: true,
  channelOf: (_url, sinkUrl) => ({
    ...channelTo(sinkUrl),
    handlerUrl: 'native:agents/chat',
    config: { callbackUrl: `${sinkUrl}/callback`, assistantId: 1 },
  }),
  documentOf: (url) => {
    if (url.endsWith('/assistant/1')) return { _id: 1, version: 1, ...CHARACTER }
    return url.includes('/configs') ? { data: [] } : {}
  },
})
const { sink } = system
const environment = {
  MODEL_PROVIDER: 'openai-compatible',
  MODEL_NAME: 'slow',
  MODEL_TOKENS_PER_DAY: '1000000000',
  MODEL_BASE_URL: model.baseUrl,
  NODE_OPTIONS: `--expose-gc --import ${join(import.meta.dirname, 'collect-on-signal.ts')}`,
}
const startDispatcher = () => system.startDispatcher(environment)
let count = 0
try {
  const memory: number[] = []
  const loop = { ours: [] as number[], bare: [] as number[] }
  const templated = { alone: [] as Speed[], waiting: [] as Speed[] }
  for (let run = 1; run <= RUNS; run++) {
    const kib = await measureMemory()
    const { ours, bare } = await measureModelLoops()
    const { alone, waiting } = await measureTemplated()
    console.log(
      `run ${run}: ${kib.toFixed(1)} KiB for each conversation; turns a second of processor ` +
        `${ours.toFixed(0)}, bare ${bare.toFixed(0)}; templated ${printed(alone)}, while they wait ${printed(waiting)}`,
    )
    memory.push(kib)
    loop.ours.push(ours)
    loop.bare.push(bare)
    templated.alone.push(alone)
    templated.waiting.push(waiting)
  }
  print({ memory, loop, templated })
} finally {
  await system.stop()
  await model.close()
}

/** KiB of memory for each conversation that waits, compared with the same process before. */
async function measureMemory(): Promise<number> {
  const runner = startDispatcher()
  await converse()
  const before = residentKib(runner)
  await startWaiting(CONVERSATIONS)
  const after = residentKib(runner)
  await end(runner)
  return (after - before) / CONVERSATIONS
}

/** Each loop twice, ours first and last: what changes evenly meanwhile weighs the same for both. */
async function measureModelLoops(): Promise<{ ours: number; bare: number }> {
  const measureOurs = () => measureModelLoop(startDispatcher(), { queued: true })
  const measureBare = () => measureModelLoop(startBare(), { queued: false })
  const first = await measureOurs()
  const bare = [await measureBare(), await measureBare()]
  return { ours: mean([first, await measureOurs()]), bare: mean(bare) }
}

/** Turns for each second of the process's processor time, all conversations going on at once; from the third to the end. */
async function measureModelLoop(runner: Runner, { queued }: { queued: boolean }): Promise<number> {
  sink.forget()
  const messages = CONVERSATIONS * EACH
  if (queued) await say({ messages })
  let before = { cpu: 0, done: 0 }
  await sink.until(messages, () => {
    if (before.done === 0 && sink.count() > messages / 3)
      before = { cpu: cpuSeconds(runner), done: sink.count() }
  })
  const perSecond = (sink.count() - before.done) / (cpuSeconds(runner) - before.cpu)
  await end(runner)
  return perSecond
}

function startBare(): Runner {
  return system.startScript('bare-sdk-loop.ts', {
    MODEL_BASE_URL: model.baseUrl,
    LOOPS: String(CONVERSATIONS),
    SYSTEM: Object.values(CHARACTER).join('\n'),
  })
}

/**
 * Templated messages a second, alone and while conversations wait for the model: slices of the same process's work, each
 * from its tenth to its last tenth, in turns, since the machine's speed changes within a minute.
 */
async function measureTemplated(): Promise<{ alone: Speed; waiting: Speed }> {
  const runner = startDispatcher()
  await sendTemplated(Math.ceil(MESSAGES / 5))
  await converse()
  const speeds = { alone: [] as Speed[], waiting: [] as Speed[] }
  const measureSlices = async (kind: 'alone' | 'waiting', slices: number) => {
    const messages = Math.ceil(MESSAGES / SLICES)
    await settle(runner)
    // Garbage from beginning or ending the conversations would be collected during the slices.
    runner.kill('SIGUSR2')
    await settle(runner)
    // Not counted: after other work the first thousands take longer. With 4,000 some of that was still measured.
    await sendTemplated(messages)
    for (let slice = 0; slice < slices; slice++) {
      const before = cpuSeconds(runner)
      await sendTemplated(messages)
      speeds[kind].push({
        rate: rateBetween(sink.times(), 0.1, 0.9),
        perProcessorSecond: messages / (cpuSeconds(runner) - before),
      })
    }
  }
  // Alone, waiting, waiting, alone, and so on: what changes evenly from slice to slice weighs the same for both.
  await measureSlices('alone', 1)
  for (let done = 0; done < SLICES; done += 2) {
    await startWaiting(CONVERSATIONS)
    await measureSlices('waiting', 2)
    await endWaiting(CONVERSATIONS)
    await measureSlices('alone', done + 2 < SLICES ? 2 : 1)
  }
  await end(runner)
  return { alone: meanSpeed(speeds.alone), waiting: meanSpeed(speeds.waiting) }
}

/** Resolves when all of them got where they are sent. */
async function sendTemplated(messages: number): Promise<void> {
  sink.forget()
  await fill(system, { messages, threads, prefix: `templated-${count++}`, logged: false })
  await sink.until(messages)
}

/** Everybody says something, and gets an answer. */
async function converse(): Promise<void> {
  sink.forget()
  await say({ messages: CONVERSATIONS })
  await sink.until(CONVERSATIONS)
}

/** Resolves when so many conversations wait for the model, which responds to none of them from then on. */
async function startWaiting(conversations: number): Promise<void> {
  model.pause()
  await say({ messages: conversations })
  if (!(await waitUntil(() => model.waiting() >= conversations, { timeoutMs: WAITING_MS })))
    throw new Error(`Only ${model.waiting()} of ${conversations} conversations came to wait for the model`)
}

/** Resolves when what came before is done with: the process takes less than a tenth of a core. */
async function settle(runner: Runner): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const before = cpuSeconds(runner)
    await pause(LOOK_MS)
    if (cpuSeconds(runner) - before < (LOOK_MS / 1_000) * 0.1) return
  }
  throw new Error('The dispatcher did not come to rest')
}

/** The model responds to those that wait; resolves when all have their answers. */
async function endWaiting(conversations: number): Promise<void> {
  sink.forget()
  model.resume()
  await sink.until(conversations)
}

function say({ messages }: { messages: number }): Promise<void> {
  return fill(system, {
    messages,
    threads: people,
    prefix: `said-${count++}`,
    logged: false,
    input: INPUT,
  })
}

/** Whatever was still going on ends, and nobody goes on with it. What is in no log is not looked for. */
async function end(runner: Runner): Promise<void> {
  await runner.stop()
  model.resume()
  await system.emptyQueues()
  await system.messages.deleteMany({})
}

function meanSpeed(speeds: Speed[]): Speed {
  return {
    rate: mean(speeds.map(({ rate }) => rate)),
    perProcessorSecond: mean(speeds.map(({ perProcessorSecond }) => perProcessorSecond)),
  }
}

function printed({ rate, perProcessorSecond }: Speed): string {
  return `${rate.toFixed(0)}/s (${perProcessorSecond.toFixed(0)} a second of processor)`
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

function print(measured: {
  memory: number[]
  loop: { ours: number[]; bare: number[] }
  templated: { alone: Speed[]; waiting: Speed[] }
}): void {
  const { memory, loop, templated } = measured
  reportFigure({
    row: `memory of a conversation that waits for its model, of ${CONVERSATIONS}`,
    ...{ values: memory, digits: 1, unit: ' KiB' },
  })
  reportComparison({
    row: 'turns for each second of processor time, beside a bare loop of the AI SDK and a POST',
    ...{ ours: loop.ours, others: loop.bare, unit: '/s', reach: { least: 0.6 } },
  })
  const reportTemplated = (row: string, figure: keyof Speed) => {
    const others = templated.alone.map((one) => one[figure])
    const ours = templated.waiting.map((one) => one[figure])
    reportComparison({ row, ours, others, unit: '/s', reach: { least: 0.95 } })
  }
  reportTemplated(
    `templated messages while ${CONVERSATIONS} conversations wait, beside the same alone`,
    'rate',
  )
  reportTemplated('the same for each second of processor time', 'perProcessorSecond')
}
