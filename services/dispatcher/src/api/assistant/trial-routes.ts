import { TURN_AGENTS } from '@parley/shared/agents'
import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import { FairSlots } from '@parley/shared/fair-slots'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { jsonObject } from '@parley/shared/json-object'
import { pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Response } from 'express'
import { z } from 'zod'
import { runTrial } from '../../agents/trial/run-trial.ts'
import type { AgentParts } from '../../agents/turns/agents.ts'
import { turn } from '../messages/message-schemas.ts'
import { turnOf } from '../messages/view.ts'
import { admits, ofAssistant, requireDocument } from './require-assistant.ts'

const MAX_BODY_BYTES = 512 * 1024
const MAX_MESSAGES = 50
const MAX_TEXT = 16 * 1024
/** In flight, and those that wait for that. */
const LIMITS = {
  ...{ of: 'trials', total: 128, each: [8], spare: 8 },
  queue: { total: 256, each: 8, ms: 5_000 },
}
/** The gateway waits longer than that for something to come. */
const SILENT_MS = 5_000

const said = z.strictObject({
  role: z
    .enum(['person', 'user', 'assistant'])
    .transform((role) => (role === 'user' ? ('person' as const) : role))
    .describe('`user` is another name for `person`'),
  text: z.string().min(1).max(MAX_TEXT),
})

/** What an assistant is tried with. */
const trialRequest = z.strictObject({
  messages: z
    .array(said)
    .min(1)
    .max(MAX_MESSAGES)
    .refine((messages) => messages.at(-1)?.role !== 'assistant', 'ends with what a person says')
    .describe('The conversation, oldest first; the last one is what a person says'),
  tools: z
    .enum(['call', 'describe'])
    .describe('`call` calls the tools; with `describe` the model is told that they are not called'),
  type: z.enum(TURN_AGENTS).default('taskManager').describe('Of the agent that answers'),
})

const trial = z
  .object({
    state: z.enum(['done', 'dead']).describe('As the message would have ended'),
    reason: z.string().optional().describe('Why it is `dead`, or `handed_off`'),
    turns: z.array(turn),
  })
  .meta({ id: 'Trial', description: 'What an assistant answered when it was tried' })

export interface Trying {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  agents: Pick<
    AgentParts,
    'loadAgent' | 'openToolbox' | 'toolImages' | 'choicesOf' | 'promptOf' | 'model' | 'usage'
  >
}

/** It is for those who may write the assistant, because its tools have effects. */
export const tryAssistant = route({
  ...ofAssistant('try'),
  access: 'write',
  id: 'tryAssistant',
  summary: 'Try an assistant',
  description:
    'It answers in turns as it answers a message, with the bounds of a channel that sets none, and nothing is sent to a person: what would be is in the turns. A task that it starts is cancelled in the end. It has the actions that the caller may read; with `call` it is refused where there are others. What takes longer than 5 seconds begins with white space.',
  body: {
    schema: trialRequest.meta({ id: 'TrialBody' }),
    example: { messages: [{ role: 'person', text: 'Where is my order?' }], tools: 'describe' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: trial, example: { state: 'done', turns: [] } },
  errors: ['not_found', 'invalid_id', 'rate_limited', 'budget_spent'],
  handle: (needed: Trying) => {
    const slots = new FairSlots(LIMITS)
    return async (req, res, asked) => {
      const caller = callerOf(res)
      const assistantId = pathId(req.params)
      await requireDocument(needed, { caller, resource: 'assistant', id: assistantId, access: 'write' })
      const given = asked.body()
      const workspace = caller.workspace._id
      const signal = closedSignal(res)
      const release = await slots.enter([workspace])
      if (signal.aborted) return release()
      const stopSigns = showSignsOfLife(res)
      try {
        const readable = (ids: readonly number[]) => readableActions(needed, { caller, ids })
        const trial = { ...given, workspace, assistantId, readable, signal }
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

/** Of these actions those that the caller's role lets it read, as configuration has them. Rejects with `unavailable`. */
async function readableActions(
  { authorizer, configuration }: { authorizer: Authorizer; configuration: Pick<InternalClient, 'get'> },
  { caller, ids }: { caller: Caller; ids: readonly number[] },
): Promise<ReadonlySet<number>> {
  const readable = await authorizer.decide(caller, 'actions', 'read')
  if (readable.kind === 'all') return new Set(ids)
  if (readable.kind === 'none') return new Set()
  const found = await Promise.all(
    ids.map((id) => configuration.get(`/internal/workspaces/${caller.workspace._id}/actions/${id}`)),
  )
  const admitted = found.map((one) => {
    const { data } = jsonObject.safeParse(one)
    return data !== undefined && admits(readable, data)
  })
  return new Set(ids.filter((_, at) => admitted[at]))
}
