import { TURN_AGENTS } from '@parley/shared/agents'
import { defined } from '@parley/shared/defined'
import { FairSlots } from '@parley/shared/fair-slots'
import { jsonObject, safeInteger } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Response } from 'express'
import { z } from 'zod'
import { AGENT_KINDS } from '../../agents/kinds/kinds.ts'
import { runTrial } from '../../agents/trial/run-trial.ts'
import type { Agents } from '../../agents/turns/agents.ts'
import { turnSettingsOf } from '../../agents/turns/bounds.ts'
import type { ToolResult } from '../../message/turn.ts'
import { turn } from '../messages/message-schemas.ts'
import { turnOf } from '../messages/view.ts'
import { readSubject, type SubjectSources } from './read-subject.ts'
import { ofAssistant, readableActions, requireDocument } from './require-assistant.ts'

const MAX_BODY_BYTES = 512 * 1024
const MAX_MESSAGES = 200
const MAX_CALLS = 50
const MAX_NAME = 256
const MAX_TEXT = 16 * 1024
/** In flight, and those that wait for that. */
const LIMITS = {
  ...{ of: 'trials', total: 128, each: [8], spare: 8 },
  queue: { total: 256, each: 8, ms: 5_000 },
}
/** The gateway waits longer than that for something to come. */
const SILENT_MS = 5_000

const call = z.object({
  id: z.string().max(MAX_NAME).default(''),
  tool: z.string().min(1).max(MAX_NAME),
  args: z.unknown().transform((args = {}) => (typeof args === 'string' ? args : JSON.stringify(args))),
  result: z
    .object({
      state: z.enum(['done', 'failed']),
      status: z.int().min(100).max(999).optional(),
      text: z.string().max(MAX_TEXT),
      cut: z.literal(true).optional(),
    })
    .transform(({ state, text, ...more }): ToolResult => ({ state, text, ...defined(more) })),
})

const said = z.strictObject({
  role: z
    .enum(['person', 'user', 'assistant'])
    .transform((role) => (role === 'user' ? ('person' as const) : role))
    .describe('`user` is another name for `person`'),
  text: z.string().max(MAX_TEXT).default(''),
  calls: z.array(call).max(MAX_CALLS).optional().describe('Of an earlier turn, as it was answered'),
})

/** The request of a trial of an assistant. */
const trialRequest = z.strictObject({
  messages: z
    .array(said)
    .min(1)
    .max(MAX_MESSAGES)
    .refine((messages) => messages.at(-1)?.role !== 'assistant', 'ends with what a person says')
    .refine(
      (messages) => messages.every(({ role, text, calls }) => text !== '' || (role === 'assistant' && calls)),
      'has one without text',
    )
    .refine(
      (messages) => messages.every(({ role, calls }) => !calls || role === 'assistant'),
      'has calls of a person',
    )
    .describe('The conversation, oldest first; the last one is what a person says'),
  tools: z
    .enum(['call', 'describe'])
    .default('describe')
    .describe('`call` calls the tools; with `describe` the model is told that they are not called'),
  type: z.enum(TURN_AGENTS).default('taskManager').describe('Of the agent that answers'),
  task: safeInteger.optional().describe('It begins where this task is, which stays there'),
  thread: z.string().min(1).max(1_024).optional().describe('Its person, channel, task and conversation'),
  user: jsonObject.optional().describe('Who writes, as `user` of a message'),
  at: z.iso.datetime({ offset: true }).optional().describe('What the time is'),
})

const trial = z
  .object({
    state: z.enum(['done', 'dead']).describe('As the message would have ended'),
    reason: z.string().optional().describe('Why it is `dead`, or `handed_off`'),
    turns: z.array(turn),
    notes: z.array(z.string()).describe('What is missing of the tools, and why'),
    task: z
      .object({ name: z.string(), workflow: safeInteger, currentStep: safeInteger, state: jsonObject })
      .nullable()
      .describe('As the trial has made it, secrets masked; null for none'),
  })
  .meta({ id: 'Trial', description: 'What an assistant answered when it was tried' })

export type Trying = SubjectSources & {
  agents: Pick<
    Agents,
    'loadAgent' | 'openToolbox' | 'toolImages' | 'choicesOf' | 'promptOf' | 'model' | 'usage' | 'readHistory'
  >
}

/** It is for those who may write the assistant, because its tools have effects. */
export const tryAssistant = route({
  ...ofAssistant('try'),
  access: 'write',
  id: 'tryAssistant',
  summary: 'Try an assistant',
  description:
    'It answers in turns as it answers a message, with the bounds of a channel that sets none, and nothing is sent to a person: what would be is in the turns. With `thread` it goes on from that conversation, with `task` from that task; these need read on messages and tasks too. Tasks change in the trial alone: what it did before is given back as `calls` of its messages. It has the actions that the caller may read; with `call` it is refused where there are others. What takes longer than 5 seconds begins with white space.',
  body: {
    schema: trialRequest.meta({ id: 'TrialBody' }),
    example: { messages: [{ role: 'person', text: 'Where is my order?' }], tools: 'describe' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: trial, example: { state: 'done', turns: [], notes: [], task: null } },
  errors: ['not_found', 'invalid_id', 'rate_limited', 'budget_spent'],
  handle: (needed: Trying) => {
    const slots = new FairSlots(LIMITS)
    return async (req, res, asked) => {
      const caller = callerOf(res)
      const assistantId = pathId(req.params)
      await requireDocument(needed, { caller, resource: 'assistant', id: assistantId, access: 'write' })
      const given = asked.body()
      const about = await subjectOf(needed, res, { ...given, assistantId })
      const workspace = caller.workspace._id
      const signal = closedSignal(res)
      const release = await slots.enter([workspace])
      if (signal.aborted) return release()
      const stopSigns = showSignsOfLife(res)
      try {
        const readable = (ids: readonly number[]) => readableActions(needed, { caller, ids })
        const { messages, tools, type } = given
        const trial = {
          messages,
          tools,
          kind: AGENT_KINDS[type],
          ...about,
          workspace,
          assistantId,
          readable,
          signal,
        }
        const { turns, isSpent, ...end } = await runTrial(needed.agents, trial)
        stopSigns()
        if (isSpent && !res.headersSent) throw new Problem('budget_spent', defined({ detail: end.reason }))
        if (!res.headersSent) res.set('content-type', 'application/json; charset=utf-8')
        res.end(JSON.stringify({ ...end, turns: turns.map(turnOf) }))
      } finally {
        stopSigns()
        release()
      }
    }
  },
})

/** Whom and what a trial is about. Its own messages follow the thread's. */
async function subjectOf(
  needed: Trying,
  res: Response,
  { messages: _messages, user, at, ...asked }: z.output<typeof trialRequest> & { assistantId: number },
) {
  const { record, message, channel, task, visible } = await readSubject(needed, res, asked)
  const now = new Date()
  const next = record && { ...record, _id: '', receivedAt: now, order: Number.MAX_SAFE_INTEGER }
  const limits = { ...turnSettingsOf(channel.config), visible }
  return {
    message: { ...message, ...(user && { user: user as WebhookMessage['user'] }) },
    channel,
    task,
    at: at === undefined ? now : new Date(at),
    earlier: next && (await needed.agents.readHistory(next, limits)),
  }
}

/** White space before the body, for as long as it takes: a connection that is silent is cut. */
function showSignsOfLife(res: Response): () => void {
  const timer = setInterval(() => {
    if (!res.headersSent) res.set('content-type', 'application/json; charset=utf-8')
    res.write(' ')
  }, SILENT_MS)
  const stop = () => clearInterval(timer)
  res.once('close', stop)
  return stop
}

function closedSignal(res: Response): AbortSignal {
  const controller = new AbortController()
  res.once('close', () => controller.abort())
  return controller.signal
}
