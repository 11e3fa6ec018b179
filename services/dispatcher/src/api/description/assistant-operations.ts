import { TURN_AGENTS } from '@parley/shared/agents'
import { safeInteger } from '@parley/shared/json-object'
import type { DescribedOperation, OperationParameter } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { promptRequest } from '../assistant/prompt-routes.ts'
import { trialRequest } from '../assistant/trial-routes.ts'
import { turn } from './message-operations.ts'

const tag = 'assistant'

const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: safeInteger,
  example: 1,
  description: 'The `_id` of the assistant',
}

const prompt = z
  .object({
    type: z.enum(TURN_AGENTS).describe('Of the agent that it is for'),
    system: z.string().describe('What those who configure the assistant have written'),
    data: z.looseObject({}).describe('Facts about person, thread and task, which the model is given as data'),
    conversation: z
      .array(z.looseObject({ role: z.enum(['person', 'assistant', 'data']) }))
      .describe(
        'As it is sent: what is too long is shortened, and the facts stand where the model reads them',
      ),
    tools: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        inputSchema: z.looseObject({}),
        action: z.number().int().optional().describe('Where it comes from; built-in tools are of none'),
        of: z.string().optional().describe('What it is called there'),
      }),
    ),
    notes: z.array(z.string()).describe('What is missing of the tools, and why'),
  })
  .meta({ id: 'Prompt', description: 'What a model is given' })

const trial = z
  .object({
    state: z.enum(['done', 'dead']).describe('As the message would have ended'),
    reason: z.string().optional().describe('Why it is `dead`, or `handed_off`'),
    turns: z.array(turn),
    notes: z.array(z.string()).describe('What is missing of the tools, and why'),
  })
  .meta({ id: 'Trial', description: 'What an assistant answered when it was tried' })

/** What is done with an assistant beside configuring it. */
export const assistantOperations: readonly DescribedOperation[] = [
  {
    method: 'POST',
    path: '/rest/assistant/{id}/prompt',
    id: 'showPrompt',
    tag,
    summary: 'Show the prompt of an assistant',
    description:
      'Secrets are masked. With `thread` or `message` it is for its person, channel, active task and conversation, with `task` for that task; these need read on messages and tasks too. Tools of actions that the role may not read are left out.',
    parameters: [idParameter],
    body: { schema: promptRequest.meta({ id: 'PromptBody' }), example: {}, optional: true },
    response: {
      schema: prompt,
      example: {
        type: 'taskManager',
        system: '# Who you are\nYou are Ana.',
        data: { user: {}, thread: { ctx: {} } },
        conversation: [],
        tools: [],
        notes: [],
      },
    },
    errors: ['not_found', 'invalid_id'],
  },
  {
    method: 'POST',
    path: '/rest/assistant/{id}/try',
    id: 'tryAssistant',
    tag,
    summary: 'Try an assistant',
    description:
      'It answers in turns as it answers a message, with the bounds of a channel that sets none, and nothing is sent to a person: what would be is in the turns. With `thread` it goes on from that conversation, with `task` from that task; these need read on messages and tasks too. Tasks change in the trial alone: what it did before is given back as `calls` of its messages. It has the actions that the caller may read; with `call` it is refused where there are others. What takes longer than 5 seconds begins with white space.',
    parameters: [idParameter],
    body: {
      schema: trialRequest.meta({ id: 'TrialBody' }),
      example: { messages: [{ role: 'person', text: 'Where is my order?' }], tools: 'describe' },
    },
    response: { schema: trial, example: { state: 'done', turns: [], notes: [] } },
    errors: ['not_found', 'invalid_id', 'rate_limited', 'budget_spent'],
  },
]
