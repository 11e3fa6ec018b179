import { TURN_AGENTS } from '@parley/shared/agents'
import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import { FairSlots } from '@parley/shared/fair-slots'
import type { InternalClient } from '@parley/shared/internal-client'
import type { Caller } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { jsonObject } from '@parley/shared/json-object'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { type Response, Router } from 'express'
import { z } from 'zod'
import { runTrial } from '../../agents/trial/run-trial.ts'
import type { AgentParts } from '../../agents/turns/agents.ts'
import { turnOf } from '../messages/view.ts'
import { admits, idIn, requireDocument } from './require-assistant.ts'

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
export const trialRequest = z.strictObject({
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

/**
 * POST /rest/assistant/{id}/try: has an assistant answer a conversation, without sending anything to a person. It is for
 * those who may write the assistant, because its tools have effects, and its actions are called only for those who may
 * read them.
 */
export function trialRoutes(needed: {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  agents: Pick<
    AgentParts,
    'loadAgent' | 'openToolbox' | 'toolImages' | 'choicesOf' | 'promptOf' | 'model' | 'usage'
  >
}): Router {
  const slots = new FairSlots(LIMITS)
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/try')
    .post(jsonBody({ maxBytes: MAX_BODY_BYTES }), async (req, res) => {
      const caller = callerOf(res)
      const assistantId = idIn(req.params.id)
      await requireDocument(needed, { caller, resource: 'assistant', id: assistantId, access: 'write' })
      const asked = parse(trialRequest, req.body)
      const workspace = caller.workspace._id
      const signal = closedSignal(res)
      const release = await slots.enter([workspace])
      if (signal.aborted) return release()
      const stopSigns = showSignsOfLife(res)
      try {
        const readable = (ids: readonly number[]) => readableActions(needed, { caller, ids })
        const trial = { ...asked, workspace, assistantId, readable, signal }
        const { turns, isSpent, ...end } = await runTrial(needed.agents, trial)
        stopSigns()
        if (isSpent && !res.headersSent) throw new Problem('budget_spent', defined({ detail: end.reason }))
        if (!res.headersSent) res.set('content-type', 'application/json; charset=utf-8')
        res.end(JSON.stringify({ ...end, turns: turns.map(turnOf) }))
      } finally {
        stopSigns()
        release()
      }
    })
    .all(methodNotAllowed('POST'))
  return router
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
