import type { Authorizer } from '@parley/shared/authorizer'
import { FairSlots } from '@parley/shared/fair-slots'
import type { InternalClient } from '@parley/shared/internal-client'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import type { Agent, AgentAction, AgentKind } from '../../agents/agent.ts'
import type { ReadAction } from '../../agents/read-action.ts'
import type { OpenToolbox } from '../../agents/tools/open-toolbox.ts'
import { assistantChannel } from '../../agents/turns/agents.ts'
import { requireDocument } from '../assistant/require-assistant.ts'

/** In flight, and those that wait for that. */
const LIMITS = {
  ...{ of: 'tests of actions', total: 64, each: [4], spare: 4 },
  queue: { total: 128, each: 8, ms: 5_000 },
}

/** The dependencies of testing actions. */
export interface Testing {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  agents: { openToolbox: OpenToolbox }
  readAction: ReadAction
}

export const testAction = route({
  method: 'POST',
  path: '/rest/actions/{id}/test',
  resource: 'actions',
  access: 'write',
  id: 'testAction',
  tag: 'actions',
  summary: 'Test the connection of an action',
  description:
    'Its MCP server is asked for its tools with its credentials, whatever it said a moment ago; of a spec the tools are those of its operations. No tool is called. What the server answers is what `GET /rest/check` shows from then on.',
  parameters: [idParameter('The `_id` of the action')],
  response: {
    schema: z
      .object({
        state: z.enum(['working', 'failing']).describe('`failing` where it gives no tools'),
        tools: z.array(z.object({ name: z.string(), description: z.string() })),
        notes: z.array(z.string()).describe('What is missing of the tools, and why'),
        ms: z.int().min(0).describe('How long it took'),
      })
      .meta({ id: 'ActionTest' }),
    example: {
      state: 'working',
      tools: [{ name: 'orderState', description: 'Where it is' }],
      notes: [],
      ms: 120,
    },
  },
  errors: ['not_found', 'invalid_id', 'rate_limited'],
  handle: (needed: Testing) => {
    const slots = new FairSlots(LIMITS)
    return async (req, res) => {
      const caller = callerOf(res)
      const id = pathId(req.params)
      await requireDocument(needed, { caller, resource: 'actions', id, access: 'write' })
      const workspace = caller.workspace._id
      const action = await needed.readAction({ workspace, _id: id }, { notBefore: Date.now() })
      if (action === undefined) throw new Problem('not_found')
      const release = await slots.enter([workspace])
      try {
        res.set('cache-control', 'no-store').json(await tested(needed, workspace, action))
      } finally {
        release()
      }
    }
  },
})

async function tested({ agents }: Testing, workspace: number, action: AgentAction) {
  const channel = assistantChannel({ workspace, assistantId: 0, kind: TESTED })
  const began = performance.now()
  const toolbox = await agents.openToolbox({
    ...{ agent: agentWith(workspace, action), channel, messageId: '', thread: '', isFresh: true },
    message: { extId: '', user: {}, thread: {}, answer: {} },
  })
  toolbox.close?.()
  const tools = toolbox.descriptions
    .filter(({ name }) => toolbox.sourceOf(name)?.action === action._id)
    .map(({ name, description }) => ({ name, description }))
  return {
    state: tools.length === 0 ? 'failing' : 'working',
    ...{ tools, notes: toolbox.notes ?? [], ms: Math.round(performance.now() - began) },
  }
}

/** It has the tools of its action alone. */
const TESTED: AgentKind = { type: 'functionCall', tools: () => [] }

const agentWith = (workspace: number, action: AgentAction): Agent => ({
  ...{ workspace, kind: TESTED, actions: [action], configs: new Map(), workflows: [] },
  assistant: { _id: 0, name: '', description: '', backstory: '' },
})
