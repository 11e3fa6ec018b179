import { expect, test } from '@jest/globals'
import { createMediaSlots } from '../../src/agents/model/media-slots.ts'
import type { ModelResult } from '../../src/agents/model-client.ts'
import type { OpenedTool } from '../../src/agents/toolbox.ts'
import type { Agents } from '../../src/agents/turns/agents.ts'
import { createModelCalls } from '../../src/agents/turns/model-calls.ts'
import type { Callback } from '../../src/channels/callback.ts'
import type { Admission } from '../../src/channels/endpoints/endpoints.ts'
import type { Handled } from '../../src/channels/handle.ts'
import { createDeliverMessage } from '../../src/deliver/deliver-message.ts'
import type { RunResult } from '../../src/deliver/thread-run.ts'
import type { LeasedMessages } from '../../src/deliver/written-message.ts'
import { advanced, type MessageRecord } from '../../src/message/message-record.ts'
import type { Outcome } from '../../src/message/outcome.ts'
import { replayed } from '../../src/message/progress.ts'
import { statusWriter } from '../../src/store/commit.ts'
import { agentOf, modelTurn, toolCall } from '../agents/agent-system.ts'
import { note } from '../agents/scripted-model.ts'
import { deliveryOptions } from '../delivery-options.ts'
import { newRecord } from '../new-record.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const MOST_RUNS = 40

/** The world outside of a message; each list is used up, and its last entry stands for all that follow. */
interface World {
  message?: object
  record?: Partial<MessageRecord>
  handlerUrl?: string
  config?: Record<string, unknown>
  hasChannel?: boolean
  reports?: boolean
  handler?: Handled[]
  sends?: Outcome[]
  models?: (ModelResult | string)[]
  tools?: Record<string, OpenedTool>
  hears?: ModelResult[]
  gathers?: ('work' | 'wait' | 'gathered')[]
  isWithPerson?: boolean[]
  endpoint?: Admission[]
  /** The person takes the thread over right before this step. */
  takenOverAt?: string
  isReplayed?: boolean
}

const next = <T>(list: T[]): T | undefined => (list.length > 1 ? list.shift() : list[0])

/** Runs a message as its thread does, until it ends, and returns what happened, in sequence. */
async function traceOf(world: World): Promise<string[]> {
  const steps: string[] = []
  let now = START
  const said = { extId: 'c', user: { phone: '1' }, thread: {}, answer: {}, ...world.message }
  let stored = newRecord({ receivedAt: new Date(START), body: JSON.stringify(said), ...world.record })
  const note = (step: string) => {
    steps.push(step)
    if (step !== world.takenOverAt) return
    stored = { ...stored, takenOver: new Date(now), revision: stored.revision + 1, writer: statusWriter('t') }
  }
  const ended = new AbortController().signal
  const leased: LeasedMessages = {
    isLeased: () => true,
    ended,
    handedOver: ended,
    commit: async (record, progress) => {
      if (record.revision !== stored.revision) {
        note('superseded')
        return undefined
      }
      stored = advanced(record, progress)
      stored.updatedAt = new Date(now)
      note(`store ${stateOf(stored)}`)
      return stored
    },
    ensureStored: async () => true,
    release: async () => {},
  }
  const run = createDeliverMessage(optionsOf(world, { note, now: () => now, read: async () => stored }))
  if (world.isReplayed) stored = replayed(stored, { at: new Date(now), partition: 0, order: 2 })
  let record = stored
  for (let runs = 0; runs < MOST_RUNS; runs++) {
    const result: RunResult = await run(record, leased, (call) => call())
    if (result.kind === 'closed') return steps
    steps.push(`wait for ${result.for}`)
    if (result.kind === 'pending') await result.settled
    else now = Math.max(now + 1, result.kind === 'wait' ? result.until : result.at)
    record = result.kind === 'wait' || result.kind === 'pending' ? result.record : stored
  }
  return [...steps, 'and so on']
}

function stateOf({ state, reason, sends, turns }: MessageRecord): string {
  const worked = turns === undefined ? '' : ` after ${turns.length} turns`
  return `${state} [${sends.map((send) => send.state)}]${worked}${reason === undefined ? '' : `: ${reason}`}`
}

function optionsOf(
  world: World,
  { note, now, read }: { note(step: string): void; now(): number; read(): Promise<MessageRecord> },
) {
  const { handlerUrl = 'native:agents/chat', config = {}, hasChannel = true, reports = true } = world
  const channel = { _id: 1, workspace: 1, hook: 'rpc', callback: 'rpc', handlerUrl, config } as const
  const callback: Callback = {
    reports,
    ...(world.endpoint && { urlOf: () => 'http://endpoint.example/' }),
    deliver: async ({ id }) => {
      note(`send ${id}`)
      return next(world.sends ?? []) ?? { kind: 'accepted', providerId: 'p', delivered: false }
    },
  }
  return deliveryOptions(callback, {
    read,
    now,
    agents: agentsOf(world, note),
    channels: { find: async () => (hasChannel ? channel : undefined) },
    handle: async () => {
      note('ask the handler')
      return next(world.handler ?? []) ?? { kind: 'answer', answer: {} }
    },
    functions: {
      check: async () => undefined,
      open: async ({ id }) => ({
        isRepeatable: false,
        deliver: async () => {
          note(`call ${id}`)
          return next(world.sends ?? []) ?? { kind: 'accepted', delivered: true }
        },
      }),
    },
    submit: async () => note('submit'),
    threads: {
      isWithPerson: async () => next(world.isWithPerson ?? []) ?? false,
      isOutsideWindow: async () => false,
    },
    endpoints: { enter: () => next(world.endpoint ?? []) ?? { kind: 'entered', leave: () => {} } },
    statuses: { clearSince: () => START, consumedUntil: now },
    uncertainWindow: 1_000,
  })
}

function agentsOf(world: World, note: (step: string) => void): Agents {
  const ask = async () => {
    note('ask the model')
    const result = next(world.models ?? [])
    return typeof result === 'object' ? result : modelTurn(result ?? 'Hello.')
  }
  const mediaSlots = createMediaSlots()
  return {
    loadAgent: async ({ kind }) => ({ kind: 'found', agent: agentOf(1, kind.type) }),
    toolImages: { get: () => [] },
    openToolbox: async () => ({
      descriptions: [],
      sourceOf: (name) => ({ action: 1, name }),
      open: async ({ tool }) => {
        note(`call ${tool}`)
        return world.tools?.[tool] ?? { kind: 'invalid', reason: `There is no ${tool}.` }
      },
    }),
    choicesOf: () => ({ kind: 'choices', choices: [{ provider: 'openai', model: 'm' }] }),
    promptOf: () => ({ system: '', data: {} }),
    model: { ask },
    askSeeing: ask,
    hearing: {
      canHear: () => world.hears !== undefined,
      hear: async () => {
        note('transcribe')
        return next(world.hears ?? []) ?? modelTurn('')
      },
    },
    mediaSlots,
    usage: {
      meter: (_use, { ask, ...limits }) => ask({ ...limits, received: () => {} }),
      spent: () => undefined,
      isFirstStopped: async () => true,
    },
    showTyping: () => {},
    notifyHandOff: () => undefined,
    handOff: async () => note('hand over'),
    calls: createModelCalls(mediaSlots),
    readHistory: async () => [],
    summarise: async () => false,
    readQuoted: async () => new Map(),
    gather: async () => {
      const kind = next(world.gathers ?? []) ?? 'work'
      if (kind === 'wait') return { kind, until: START + 5_000 }
      return kind === 'work' ? { kind, isAlone: true } : { kind, into: 'later' }
    },
  }
}

const answer = { answer: { message: 'Hello' } }
const handled: World = { handlerUrl: 'https://handler.example/' }
const unreached: Outcome = {
  kind: 'retryable',
  code: 'x',
  fault: 'channel',
  reason: 'It can not be reached.',
}
const unanswered: Outcome = { kind: 'uncertain', code: 'no_answer', fault: 'provider', reason: 'No answer.' }
const refused: Outcome = { kind: 'permanent', code: 'no', fault: 'recipient', reason: 'The number is wrong.' }
const late: ModelResult = { kind: 'retryable', code: 'timeout', reason: 'It did not answer.' }
const audio = { audioRef: { mediaId: 'm', mimeType: 'audio/ogg' } }

test.each<[string, World]>([
  ['that carries its answer', { message: answer }],
  ['whose provider reports nothing', { message: answer, reports: false }],
  [
    'with a function and a submission',
    {
      message: { answer: { message: 'Hello', submit: { done: true }, functions: [{ name: 'a', args: {} }] } },
    },
  ],
  ['that a handler answers', { ...handled, handler: [{ kind: 'answer', answer: { message: 'Hello' } }] }],
  [
    'that a handler answers at the second try',
    { ...handled, handler: [unreached, { kind: 'answer', answer: {} }] },
  ],
  ['that a handler refuses', { ...handled, handler: [refused] }],
  ['whose thread a person has', { ...handled, isWithPerson: [true] }],
  ['without a channel', { hasChannel: false }],
  ['that the provider refuses', { message: answer, sends: [refused] }],
  [
    'that the provider takes at the second try',
    { message: answer, sends: [unreached, { kind: 'accepted', providerId: 'p', delivered: false }] },
  ],
  [
    'whose send is uncertain',
    { message: answer, sends: [unanswered, { kind: 'accepted', providerId: 'p', delivered: false }] },
  ],
  [
    'whose function is uncertain',
    {
      message: { answer: { functions: [{ name: 'a', args: {} }] } },
      sends: [{ ...unanswered, isFinal: true }],
    },
  ],
  [
    'whose endpoint is not called for a while',
    {
      message: answer,
      endpoint: [
        { kind: 'wait', until: START + 5_000, for: 'circuit_breaker', reason: 'It is open.' },
        { kind: 'entered', leave: () => {} },
      ],
    },
  ],
  [
    'that is run again',
    {
      message: answer,
      isReplayed: true,
      record: {
        state: 'dead',
        open: undefined,
        sends: [
          { id: 'm:0', content: { kind: 'text', text: 'Hello' }, state: 'sent' },
          { id: 'm:1', content: { kind: 'text', text: 'you' }, state: 'failed' },
        ],
      },
    },
  ],
  ['that an agent answers', {}],
  [
    'whose model calls tools',
    {
      models: [modelTurn('One moment.', [toolCall('note'), toolCall('missing')]), 'Done.'],
      tools: { note: note() },
    },
  ],
  [
    'whose model says something by a tool',
    {
      models: [modelTurn('', [toolCall('say'), toolCall('note')]), 'Done.'],
      tools: { say: { kind: 'say', content: { kind: 'text', text: 'Look' } }, note: note() },
    },
  ],
  [
    'whose model hands over',
    {
      models: [modelTurn('Wait.', [toolCall('handOff'), toolCall('note')])],
      tools: { handOff: { kind: 'handOff', reason: 'It is asked for.' }, note: note() },
    },
  ],
  ['whose model answers at the second try', { models: [late, 'Hello.'] }],
  [
    'whose model fails for ever',
    { models: [late], config: { fallbackMessage: 'Later!', messageTimeoutSeconds: 10 } },
  ],
  [
    'whose budget is spent',
    {
      models: [{ kind: 'refused', code: 'budget_spent', reason: 'It is spent.' }],
      config: { fallbackMessage: 'Later!' },
    },
  ],
  [
    'that ends at its last turn',
    {
      models: [modelTurn('', [toolCall('note')])],
      tools: { note: note() },
      config: { maxTurns: 2, fallbackMessage: 'Later!' },
    },
  ],
  [
    'whose tool can not be reached for a while',
    {
      models: [modelTurn('', [toolCall('note')]), 'Done.'],
      tools: { note: { kind: 'call', deliver: async () => ({ kind: 'unreached', reason: 'It is away.' }) } },
    },
  ],
  ['of a person with an agent, which a person has', { isWithPerson: [true] }],
  [
    'that is taken over while a tool is called',
    {
      models: [modelTurn('', [toolCall('note'), toolCall('other')])],
      tools: { note: note(), other: note() },
      takenOverAt: 'call note',
    },
  ],
  [
    'that is taken over before its text leaves',
    { models: ['Hello.'], takenOverAt: 'store handled [pending] after 1 turns' },
  ],
  ['whose audio is heard', { message: audio, hears: [modelTurn('Hi')] }],
  [
    'whose audio can not be heard',
    { message: audio, hears: [{ kind: 'refused', code: 'x', reason: 'It is no audio.' }] },
  ],
  ['that is the last of those that are gathered', { config: { gatherMs: 5_000 }, gathers: ['wait', 'work'] }],
  ['that is gathered into another', { config: { gatherMs: 5_000 }, gathers: ['wait', 'gathered'] }],
  [
    'with audio that is gathered into another',
    { message: audio, hears: [modelTurn('Hi')], config: { gatherMs: 5_000 }, gathers: ['gathered'] },
  ],
  ['that its writer took back', { record: { changed: { by: 'x', at: new Date(START), isDeleted: true } } }],
])('a message %s takes its steps', async (_title, world) => {
  expect(await traceOf({ record: {}, ...world })).toMatchSnapshot()
})
