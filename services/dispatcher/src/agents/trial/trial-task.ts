import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { MASK } from '@parley/shared/secret-names'
import type { ToolResult } from '../../message/turn.ts'
import type { Agent } from '../agent.ts'

/** The task of a trial after a call of a task tool, as configuration has it; null for none. */
interface Changed {
  task: JsonObject | null
  result: ToolResult
}

/** A task as whoever tries the assistant sees it. */
export interface ShownTask {
  name: string
  workflow: number
  currentStep: number
  /** The values that `setState` has stored, secrets masked. */
  state: JsonObject
}

export function shownTask(task: JsonObject | null): ShownTask | null {
  if (task === null) return null
  const { name, workflow, currentStep, context } = task
  const state = jsonObject.safeParse(jsonObject.safeParse(context).data?.state).data ?? {}
  return {
    ...{ name: String(name), workflow: Number(workflow), currentStep: Number(currentStep) },
    state: mapSecrets({ context: { state } }, () => MASK).context.state,
  }
}

/** By the names of the tools; the agent is the one that has the task. */
const CHANGES: Record<string, (task: JsonObject | null, args: JsonObject, agent: Agent) => Changed> = {
  submit: (task, args, agent) => {
    const submitted = task ?? newTask(agent.workflows.find(({ isDefault }) => isDefault))
    if (submitted === undefined) return refused(task, 'There is no active task, and no workflow to start.')
    const id = String(submitted.currentStep)
    const next = { ...submitted, context: withMembers(submitted.context, 'steps', { [id]: args }) }
    if (args.cancel === true) return ended(next, 'cancelled')
    const of = agent.task?.step
    if (of === undefined) return at(next, agent)
    return typeof of.next === 'number'
      ? at({ ...next, currentStep: of.next }, agent)
      : ended(next, 'completed')
  },
  createTask: (task, { workflowName }, agent) => {
    if (task !== null) return refused(task, 'There is an active task already. Complete or cancel it first.')
    const found = agent.workflows.find(({ name }) => name === workflowName)
    if (found === undefined) return refused(task, unknown('workflow', workflowName, agent.workflows))
    const made = newTask(found)
    return made === undefined ? refused(task, 'The workflow has no steps.') : at(made, agent)
  },
  changeStep: (task, { stepName }, agent) => {
    if (task === null || agent.task === undefined) return NO_TASK
    const { stepIds = [], steps } = agent.task
    const currentStep = stepIds[steps.indexOf(String(stepName))]
    return currentStep === undefined
      ? refused(
          task,
          unknown(
            'step',
            stepName,
            steps.map((name) => ({ name })),
          ),
        )
      : at({ ...task, currentStep }, agent)
  },
  cancelTask: (task) => (task === null ? NO_TASK : ended(task, 'cancelled')),
  setState: (task, { key, value = null }) => {
    if (task === null) return NO_TASK
    const context = withMembers(task.context, 'state', { [String(key)]: value })
    return { task: { ...task, context }, result: done(`The state of the task has ${JSON.stringify(key)}.`) }
  },
}

export const isTaskTool = (tool: string): boolean => Object.hasOwn(CHANGES, tool)

/** Returns a trial's task after a tool call; undefined where the tool is none of tasks. Nothing is stored. */
export function taskAfter(
  task: JsonObject | null,
  { tool, args }: { tool: string; args: string },
  agent: Agent,
): Changed | undefined {
  const change = isTaskTool(tool) ? CHANGES[tool] : undefined
  return change?.(task, jsonObject.safeParse(jsonOrUndefined(args)).data ?? {}, agent)
}

function newTask(workflow: Agent['workflows'][number] | undefined): JsonObject | undefined {
  if (workflow?.firstStep === undefined) return undefined
  return { _id: 0, name: workflow.name, workflow: workflow._id, currentStep: workflow.firstStep }
}

/** The object with further members of the object that it has under a name. */
function withMembers(context: unknown, name: string, more: JsonObject): JsonObject {
  const around = jsonObject.safeParse(context).data ?? {}
  const known = jsonObject.safeParse(around[name]).data ?? {}
  return { ...around, [name]: Object.fromEntries([...Object.entries(known), ...Object.entries(more)]) }
}

const done = (text: string): ToolResult => ({ state: 'done', text })
const refused = (task: JsonObject | null, text: string): Changed => ({
  task,
  result: { state: 'failed', text },
})
const NO_TASK = refused(null, 'There is no active task.')

const ended = ({ name }: JsonObject, how: string): Changed => ({
  task: null,
  result: done(`The task ${JSON.stringify(name)} is ${how}.`),
})

function at(task: JsonObject, { task: of }: Agent): Changed {
  const position = of?.stepIds?.indexOf(task.currentStep as number) ?? -1
  const step = of?.steps[position]
  const where = step === undefined ? 'its next step' : `the step ${JSON.stringify(step)}`
  return { task, result: done(`The task ${JSON.stringify(task.name)} is at ${where}.`) }
}

function unknown(what: string, name: unknown, known: readonly { name: string }[]): string {
  const names = known.map((one) => JSON.stringify(one.name)).join(', ')
  return `There is no ${what} ${JSON.stringify(name)} here. There are: ${names || 'none'}.`
}
