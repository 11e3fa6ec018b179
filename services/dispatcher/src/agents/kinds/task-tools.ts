import { jsonObject } from '@parley/shared/json-object'
import {
  MAX_STATE_KEY,
  type TaskOperation,
  type TaskOperationResult,
  taskOperationResult,
} from '@parley/shared/task-operation'
import { z } from 'zod'
import { scopeOf } from '../active-task.ts'
import type { ToolNeeds } from '../agent.ts'
import type { OpenedTool, Tool, ToolOutcome } from '../toolbox.ts'
import { opened, schemaOf } from '../tools/person-tools.ts'
import { resultOf } from '../tools/tool.ts'

const name = z.string().min(1).max(1_024)
const args = {
  createTask: z.object({ workflowName: name }),
  changeStep: z.object({ stepName: name }),
  cancelTask: z.object({}),
  setState: z.object({
    key: z.string().min(1).max(MAX_STATE_KEY),
    value: z.unknown().describe('Any JSON value'),
  }),
}

/** Whose task it is, and what it is started by. */
interface TaskScope {
  workspace: number
  channelId: number
  assistantId: number
  thread: string
  /** The channel's external id; undefined where the assistant is tried. */
  channel: string | undefined
}

/** The tools that work on the task of a thread. Configuration applies each once for its id. */
export function taskTools(needed: ToolNeeds, scope: TaskScope): Tool[] {
  const operation = (made: TaskOperation['operation']): OpenedTool => ({
    kind: 'call',
    deliver: (id) => applied(needed, scope, { id, operation: made }),
  })
  return [
    {
      name: 'submit',
      description:
        "Submits what the task's current step has to yield, as one object, and moves the task on to its next step.",
      inputSchema: { type: 'object', additionalProperties: true },
      open: (submit) => operation({ kind: 'submit', submit }),
    },
    {
      name: 'createTask',
      description: 'Starts a workflow for this conversation, where no task is under way.',
      inputSchema: schemaOf(args.createTask),
      open: (given) =>
        opened(args.createTask, given, ({ workflowName }) =>
          operation({ kind: 'createTask', workflow: workflowName }),
        ),
    },
    {
      name: 'changeStep',
      description: 'Goes to another step of the task, by its name, without submitting the current one.',
      inputSchema: schemaOf(args.changeStep),
      open: (given) =>
        opened(args.changeStep, given, ({ stepName }) => operation({ kind: 'changeStep', step: stepName })),
    },
    {
      name: 'cancelTask',
      description: 'Ends the task that is under way, unfinished.',
      inputSchema: schemaOf(args.cancelTask),
      open: (given) => opened(args.cancelTask, given, () => operation({ kind: 'cancelTask' })),
    },
    {
      name: 'setState',
      description: 'Stores a value under a key in the state of the task, to be seen in later turns.',
      inputSchema: schemaOf(args.setState),
      // The value as it came: a parser would drop a `__proto__` key.
      open: (given) =>
        opened(args.setState, given, ({ key }) => operation({ kind: 'setState', key, value: given.value })),
    },
  ]
}

async function applied(
  { configuration, isFirstOfName }: ToolNeeds,
  { workspace, thread, channel, ...scope }: TaskScope,
  call: Pick<TaskOperation, 'id' | 'operation'>,
): Promise<ToolOutcome> {
  try {
    const of = await scopeOf(isFirstOfName, { workspace, channel, thread })
    const body: TaskOperation = { ...scope, ...of, ...call }
    const answer = await configuration.post(`/internal/workspaces/${workspace}/tasks/operations`, body)
    const { state, text }: TaskOperationResult = taskOperationResult.parse(jsonObject.parse(answer))
    return { kind: 'answered', result: resultOf(state, text) }
  } catch {
    // It is the same operation when it comes again under its id.
    return { kind: 'unreached', reason: 'The tasks are unavailable at the moment.' }
  }
}
