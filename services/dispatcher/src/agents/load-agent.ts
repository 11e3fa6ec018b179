import type { Replica } from '@parley/shared/config-replica/replica'
import type { ConfigurationDocument } from '@parley/shared/config-replica/replica-store'
import type { ResourceName } from '@parley/shared/configuration-resources'
import { defined } from '@parley/shared/defined'
import {
  type Assistant,
  assistantDocument,
  type Job,
  jobDocument,
  WORKFLOWS_CONFIG,
} from '@parley/shared/documents/assistant'
import { stepDocument, taskDocument, workflowDocument } from '@parley/shared/documents/workflow'
import type { InternalClient } from '@parley/shared/internal-client'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import type { SecretBox } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { z } from 'zod'
import type { Channel } from '../channels/channels.ts'
import type { IsFirstOfName } from '../conversations/first-of-name.ts'
import { activeTask } from './active-task.ts'
import type { Agent, AgentAction, AgentKind } from './agent.ts'
import { createReadAction, openConfigs, type ReadAction, storedConfig } from './read-action.ts'

const MAX_ACTIONS = 100
const MAX_CONFIGS = 200
const MAX_STEPS = 200
const MAX_WORKFLOWS = 50
const storedTask = taskDocument.stored.pick({
  _id: true,
  name: true,
  workflow: true,
  currentStep: true,
  context: true,
})
/** Of which assistant, for which thread. */
interface AgentQuery {
  channel: Channel
  kind: AgentKind
  thread: string
  /** A read before this time (milliseconds since the epoch) is too old, as long as configuration answers. */
  notBefore?: number
  /** A task as configuration has it, in the place of the thread's active one; null for none. */
  task?: JsonObject | null
}

/**
 * What an agent is, for one turn. `missing` where the channel names no assistant, or one that is not there; anything
 * else that was deleted is left out. Rejects with `unavailable`.
 */
export type LoadAgent = (
  query: AgentQuery,
) => Promise<{ kind: 'found'; agent: Agent } | { kind: 'missing'; reason: string }>

/** Agents from the replicas of configuration; a thread's task is read from configuration itself. */
export function createLoadAgent(options: {
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
}): LoadAgent {
  const { replica, secrets } = options
  const readAction = createReadAction(options)
  return async ({ channel, kind, thread, notBefore = 0, task: given }) => {
    const { workspace } = channel
    const { assistantId } = channel.config
    if (typeof assistantId !== 'number')
      return { kind: 'missing', reason: 'The channel names no assistant in config.assistantId.' }
    const read = reader({ replica, workspace, notBefore })
    const assistant = await read.one('assistant', assistantId, assistantDocument.stored)
    if (assistant === undefined)
      return { kind: 'missing', reason: `There is no assistant ${assistantId}, which the channel names.` }
    const ownConfigs = await configsOf(read, assistant)
    const { configs, origins } = openConfigs(ownConfigs, { secrets, workspace })
    const ownJob = await read.one('jobs', assistant.job, jobDocument.stored)
    const isTasked = kind.task !== undefined
    const activeOrGiven = async () =>
      storedTask.safeParse(
        given === undefined
          ? await activeTask(options, { workspace, channel: channel.extId, thread })
          : given,
      )
    const task = isTasked ? (await activeOrGiven()).data : undefined
    const step = task && (await read.one('steps', task.currentStep, stepDocument.stored))
    const stepJob = await read.one('jobs', step?.job, jobDocument.stored)
    const job = stepJob ?? ownJob
    const actionIds = [assistant.actions, ownJob?.actions, stepJob?.actions].flatMap((some) => some ?? [])
    const { _id, name, description, backstory } = assistant
    return {
      kind: 'found',
      agent: {
        workspace,
        kind,
        assistant: { _id, name, description, backstory },
        ...(job === undefined ? {} : { job: shownJob(job) }),
        actions: await actionsOf(readAction, actionIds, { workspace, notBefore }),
        configs,
        origins,
        ...(task === undefined ? {} : { task: await taskOf(read, task, step) }),
        workflows: isTasked ? await workflowsOf(read, ownJob?.defaultWorkflow, configs) : [],
      },
    }
  }
}

interface Reader {
  /** The document; undefined where there is no id, no document, or none of that shape. */
  one<S extends z.ZodType>(
    resource: ResourceName,
    id: number | null | undefined,
    schema: S,
  ): Promise<z.output<S> | undefined>
  ownedConfigs(owner: number, ownerType: string): Promise<ConfigurationDocument[]>
}

function reader(options: { replica: Pick<Replica, 'find'>; workspace: number; notBefore: number }): Reader {
  const { replica, workspace, notBefore } = options
  return {
    async one(resource, id, schema) {
      if (typeof id !== 'number') return undefined
      const [document] = await replica.find({ resource, workspace, id }, { notBefore })
      return schema.safeParse(document).data
    },
    ownedConfigs: (owner, ownerType) =>
      replica.find({ resource: 'configs', workspace, owner, ownerType }, { notBefore }),
  }
}

/** Those that the assistant names, then those that name it as their owner. */
async function configsOf(read: Reader, assistant: Assistant): Promise<unknown[]> {
  const named = (assistant.configs ?? []).slice(0, MAX_CONFIGS)
  return [
    ...(await Promise.all(named.map((id) => read.one('configs', id, storedConfig)))),
    ...(await read.ownedConfigs(assistant._id, 'assistant')),
  ]
}

async function actionsOf(
  readAction: ReadAction,
  given: readonly number[],
  { workspace, notBefore }: { workspace: number; notBefore: number },
): Promise<AgentAction[]> {
  const distinct = [...new Set(given)].slice(0, MAX_ACTIONS)
  const actions = await Promise.all(distinct.map((_id) => readAction({ workspace, _id }, { notBefore })))
  return actions.filter((action) => action !== undefined)
}

/** A task whose workflow was deleted says so: what is submitted next cancels it. */
async function taskOf(
  read: Reader,
  task: z.output<typeof storedTask>,
  step: z.output<typeof stepDocument.stored> | undefined,
): Promise<NonNullable<Agent['task']>> {
  const found = await read.one('workflows', task.workflow, workflowDocument.stored)
  const { _id, name, context } = task
  const given = jsonObject.safeParse(context).data
  const [state, submitted] = [given?.state, given?.steps].map(maskedObject)
  const steps = found === undefined ? [] : await stepsOf(read, found)
  return {
    _id,
    name,
    state: state ?? {},
    submitted: submittedOf(submitted ?? {}, steps),
    workflow: found === undefined ? deletedWorkflow(task.workflow) : shownWorkflow(found),
    ...(step === undefined ? {} : { step: shownStep(step) }),
    steps: steps.map(({ name }) => name),
    stepIds: steps.map(({ _id }) => _id),
  }
}

const maskedObject = (value: unknown): JsonObject =>
  mapSecrets(jsonObject.safeParse(value).data ?? {}, () => MASK, { reach: 'state' }) as JsonObject

/** Under the names of the steps, in the order of the workflow; under its id what is of no step any more. */
function submittedOf(submitted: JsonObject, steps: readonly NamedStep[]): JsonObject {
  const names = new Map(steps.map(({ _id, name }) => [String(_id), name]))
  const ids = [...names.keys()].filter((id) => id in submitted)
  const others = Object.keys(submitted).filter((id) => !names.has(id))
  return Object.fromEntries([...others, ...ids].map((id) => [names.get(id) ?? id, submitted[id]]))
}

function deletedWorkflow(_id: number): NonNullable<Agent['task']>['workflow'] {
  return {
    _id,
    name: '(deleted)',
    description: 'This workflow was deleted; what is submitted cancels the task.',
  }
}

function shownWorkflow(
  workflow: z.output<typeof workflowDocument.stored>,
): NonNullable<Agent['task']>['workflow'] {
  const { _id, name, description, instructions } = workflow
  return { _id, name, description, ...(instructions ? { instructions } : {}) }
}

function shownStep(
  step: z.output<typeof stepDocument.stored>,
): NonNullable<NonNullable<Agent['task']>['step']> {
  const { _id, name, description, instructions, submitWhen, next } = step
  return { _id, name, description, instructions, submitWhen, ...(next == null ? {} : { next }) }
}

function shownJob({ _id, role, goal, description }: Job): NonNullable<Agent['job']> {
  return { _id, role, goal, description }
}

type NamedStep = { _id: number; name: string }

/** Those that the workflow lists, else those that its first step leads to; 200 at most. */
async function stepsOf(
  read: Reader,
  workflow: z.output<typeof workflowDocument.stored>,
): Promise<NamedStep[]> {
  const listed = (workflow.steps ?? []).slice(0, MAX_STEPS)
  if (listed.length > 0) {
    const steps = await Promise.all(listed.map((id) => read.one('steps', id, stepDocument.stored)))
    return steps.flatMap((step) => (step === undefined ? [] : namedStep(step)))
  }
  const found: NamedStep[] = []
  const seen = new Set<number>()
  let next = workflow.firstStep
  while (typeof next === 'number' && !seen.has(next) && seen.size < MAX_STEPS) {
    seen.add(next)
    const step: z.output<typeof stepDocument.stored> | undefined = await read.one(
      'steps',
      next,
      stepDocument.stored,
    )
    if (step === undefined) break
    found.push(namedStep(step))
    next = step.next
  }
  return found
}

const namedStep = ({ _id, name }: NamedStep): NamedStep => ({ _id, name })

const workflowsConfig = z.looseObject({ ids: z.array(z.number()) })

/** As configuration finds them when a task is to be started. */
async function workflowsOf(
  read: Reader,
  defaultId: number | null | undefined,
  configs: ReadonlyMap<string, JsonObject>,
): Promise<Agent['workflows']> {
  const named = workflowsConfig.safeParse(configs.get(WORKFLOWS_CONFIG)).data?.ids ?? []
  const distinct = [...new Set([...(typeof defaultId === 'number' ? [defaultId] : []), ...named])]
  const found = await Promise.all(
    distinct.slice(0, MAX_WORKFLOWS).map((id) => read.one('workflows', id, workflowDocument.stored)),
  )
  return found.flatMap((workflow) => {
    if (workflow === undefined) return []
    const { _id, name, description, steps } = workflow
    const firstStep = workflow.firstStep ?? steps?.[0]
    return { _id, name, description, isDefault: _id === defaultId, ...defined({ firstStep }) }
  })
}
