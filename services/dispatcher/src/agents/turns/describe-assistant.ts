import type { DescribeAssistant } from '../../channels/handle.ts'
import { AGENT_KINDS } from '../kinds/kinds.ts'
import type { AgentParts } from './agents.ts'

/**
 * What a handler over HTTP is told of its channel's assistant: name and backstory, its job, and the thread's task with
 * workflow and step. Configs and actions are left out, for they may have secrets.
 */
export function createDescribeAssistant({ loadAgent }: Pick<AgentParts, 'loadAgent'>): DescribeAssistant {
  return async ({ channel, thread }) => {
    const loaded = await loadAgent({ channel, kind: AGENT_KINDS.taskManager, thread })
    if (loaded.kind === 'missing') return null
    const { assistant, job = null, task } = loaded.agent
    if (task === undefined) return { ...assistant, job, task: null, step: null }
    const { _id, name, state, workflow, steps } = task
    return { ...assistant, job, task: { _id, name, state, workflow, steps }, step: task.step ?? null }
  }
}
