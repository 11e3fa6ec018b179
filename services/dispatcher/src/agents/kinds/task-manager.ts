import type { JsonObject } from '@parley/shared/json-object'
import type { Agent, AgentKind } from '../agent.ts'
import { cutText, line, section } from '../prompt/texts.ts'
import { personTools } from '../tools/person-tools.ts'
import { taskTools } from './task-tools.ts'

/** Steps whose submissions are given, and the characters of all of them. */
const MAX_SUBMITTED = 40
const MAX_SUBMITTED_CHARACTERS = 16_000

/** Works at the thread's task, step by step. */
export const taskManager: AgentKind = {
  type: 'taskManager',
  tools: (needed, { agent, channel, thread }) => [
    ...personTools(channel),
    ...taskTools(needed, {
      workspace: agent.workspace,
      channelId: channel._id,
      channel: channel.extId,
      assistantId: agent.assistant._id,
      thread,
    }),
  ],
  task: {
    sections: ({ task, workflows }) => [task === undefined ? toStart(workflows) : currentWork(task)],
    data: ({ task }) => (task === undefined ? {} : taskData(task)),
  },
}

function currentWork({ workflow, step, steps }: NonNullable<Agent['task']>): string {
  const ofStep =
    step === undefined
      ? []
      : [
          line('Current step', step.name),
          step.description,
          line('Instructions for this step', step.instructions),
          line('The step is complete, and you call the tool submit, when', step.submitWhen),
        ]
  return section(
    'The work under way',
    line('Workflow', workflow.name),
    workflow.description,
    workflow.instructions ?? '',
    line('Its steps in order', steps.join(', ')),
    ...ofStep,
  )
}

function toStart(workflows: Agent['workflows']): string {
  if (workflows.length === 0) return ''
  const entries = workflows.map(({ name, description, isDefault }) => {
    const about = description === '' ? '' : `: ${description}`
    return `- ${name}${isDefault ? ' (the usual one)' : ''}${about}`
  })
  return section('What you may start, with the tool createTask', ...entries)
}

/** Returns the submissions of the last steps, each cut so that all of them fit. */
function taskData({ name, state, submitted = {} }: NonNullable<Agent['task']>): JsonObject {
  const last = Object.entries(submitted).slice(-MAX_SUBMITTED)
  const characters = Math.floor(MAX_SUBMITTED_CHARACTERS / last.length)
  const steps = last.map(([step, value]) => {
    const json = JSON.stringify(value) ?? ''
    return [step, json.length <= characters ? value : cutText(json, characters)]
  })
  return { task: { name, state }, ...(steps.length > 0 && { submitted: Object.fromEntries(steps) }) }
}
