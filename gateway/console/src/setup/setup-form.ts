/** A document of the configuration. */
export type Stored = { _id: number } & Readonly<Record<string, unknown>>

/** The documents that an assistant is made of, as they are there. */
export interface Setup {
  assistant: Stored | undefined
  job: Stored | undefined
  workflow: Stored | undefined
  steps: readonly Stored[]
  /** Those that the assistant itself lists, and others that it may be given. */
  actions: readonly Stored[]
  /** Those of the assistant, and of its actions. */
  configs: readonly Stored[]
}

/** How a tool's server knows who asks. What is stored is not shown, so `stored` leaves it as it is. */
export type SignIn =
  | { kind: 'none' | 'stored' | 'consent' }
  | { kind: 'apiKey'; apiKey: string }
  | { kind: 'token'; token: string }
  | { kind: 'basic'; username: string; password: string }

/** An id below zero is of something that is not there yet. */
export interface ToolForm {
  id: number
  name: string
  description: string
  specType: string
  moduleUrl: string
  spec: string
  /** The operations that are chosen; null for all. */
  operations: readonly string[] | null
  signIn: SignIn
}

export interface StepForm {
  id: number
  name: string
  instructions: string
  submitWhen: string
  next: number | null
}

export interface WorkflowForm {
  id: number
  name: string
  instructions: string
  first: number | null
  steps: readonly StepForm[]
}

export interface ModelForm {
  /** Empty for the deployment's own model. */
  provider: string
  model: string
  baseUrl: string
  /** Empty where the key stays as it is. */
  key: string
}

/** The values in the form of an assistant's page. */
export interface SetupForm {
  name: string
  description: string
  backstory: string
  role: string
  goal: string
  model: ModelForm
  tools: readonly ToolForm[]
  workflow: WorkflowForm | null
}

export const EMPTY_SETUP: Setup = {
  ...{ assistant: undefined, job: undefined, workflow: undefined },
  ...{ steps: [], actions: [], configs: [] },
}

/** Returns the form for a setup that is stored. */
export function formOf(setup: Setup): SetupForm {
  const { assistant, job, workflow } = setup
  const actions = new Map(setup.actions.map((action) => [action._id, action]))
  return {
    name: textIn(assistant, 'name'),
    description: textIn(assistant, 'description'),
    backstory: textIn(assistant, 'backstory'),
    role: textIn(job, 'role'),
    goal: textIn(job, 'goal'),
    model: modelIn(setup),
    tools: [...new Set(idsIn(assistant, 'actions'))].flatMap((id) => {
      const action = actions.get(id)
      return action === undefined ? [] : [toolOf(action, setup)]
    }),
    workflow: isBegunBy(job, workflow) ? workflowOf(workflow, setup.steps) : null,
  }
}

const isBegunBy = (job: Stored | undefined, workflow: Stored | undefined): workflow is Stored =>
  job !== undefined && workflow !== undefined && idIn(job, 'defaultWorkflow') === workflow._id

function modelIn(setup: Setup): ModelForm {
  const value = settingsOf(modelConfig(setup))
  return {
    provider: textIn(value, 'provider'),
    model: textIn(value, 'model'),
    baseUrl: textIn(value, 'baseUrl'),
    key: '',
  }
}

/** Returns the form of an action. */
export function toolOf(action: Stored, setup: Pick<Setup, 'configs'>): ToolForm {
  return {
    id: action._id,
    name: textIn(action, 'name'),
    description: textIn(action, 'description'),
    specType: textIn(action, 'specType'),
    moduleUrl: textIn(action, 'moduleUrl'),
    spec: textIn(action, 'spec'),
    operations: (settingsOf(choosingConfig(setup, action._id)).operations as string[] | undefined) ?? null,
    signIn: { kind: credentialsOf(setup, action._id) === undefined ? 'none' : 'stored' },
  }
}

function workflowOf(workflow: Stored, steps: readonly Stored[]): WorkflowForm {
  const byId = new Map(steps.map((step) => [step._id, step]))
  return {
    id: workflow._id,
    name: textIn(workflow, 'name'),
    instructions: textIn(workflow, 'instructions'),
    first: idIn(workflow, 'firstStep'),
    steps: idsIn(workflow, 'steps').flatMap((id) => {
      const step = byId.get(id)
      return step === undefined ? [] : [stepOf(step)]
    }),
  }
}

const stepOf = (step: Stored): StepForm => ({
  id: step._id,
  name: textIn(step, 'name'),
  instructions: textIn(step, 'instructions'),
  submitWhen: textIn(step, 'submitWhen'),
  next: idIn(step, 'next'),
})

/** Referenced documents that were not read: they are gone, or the role may not read them. They stay as they are. */
export interface Unread {
  job: boolean
  /** With its steps; what is unknown of a job is its workflow, too. */
  workflow: boolean
  tools: number
  steps: number
}

export function unreadOf({ assistant, job, workflow, steps, actions }: Setup): Unread {
  const missing = (document: Stored | undefined, field: string, read: readonly Stored[]): number => {
    const known = new Set(read.map(({ _id }) => _id))
    return idsIn(document, field).filter((id) => !known.has(id)).length
  }
  const hasJob = job === undefined && assistant !== undefined && idIn(assistant, 'job') !== null
  const hasWorkflow = workflow === undefined && job !== undefined && idIn(job, 'defaultWorkflow') !== null
  return {
    job: hasJob,
    workflow: hasJob || hasWorkflow,
    tools: missing(assistant, 'actions', actions),
    steps: missing(workflow, 'steps', steps),
  }
}

/** The steps that a task comes to, one after the other. */
export function reachedSteps({ first, steps }: Pick<WorkflowForm, 'first' | 'steps'>): ReadonlySet<number> {
  const byId = new Map(steps.map((step) => [step.id, step]))
  const reached = new Set<number>()
  let at = first ?? steps[0]?.id ?? null
  while (at !== null && byId.has(at) && !reached.has(at)) {
    reached.add(at)
    at = byId.get(at)?.next ?? null
  }
  return reached
}

type Owner = 'assistant' | 'action'

const isOf = (config: Stored, type: Owner, id: number | undefined): boolean =>
  id !== undefined && config.owner === id && String(config.ownerType).replace(/s$/, '') === type

const plain = (name: unknown): string => String(name).toLowerCase().replaceAll('-', '_')

/** Those that the assistant lists come before those that name it as their owner. */
function configsOfAssistant({ assistant, configs }: Setup): Stored[] {
  const byId = new Map(configs.map((config) => [config._id, config]))
  const listed = idsIn(assistant, 'configs').flatMap((id) => byId.get(id) ?? [])
  const owned = configs.filter((config) => isOf(config, 'assistant', assistant?._id))
  return [...new Set([...listed, ...owned])]
}

/** The config that says which model answers. */
export function modelConfig(setup: Setup): Stored | undefined {
  const own = configsOfAssistant(setup)
  return ['model', 'ai_chat_provider'].flatMap((name) => own.filter((one) => plain(one.name) === name))[0]
}

/** The config with the key of that model: the one for its provider only where there is no other. */
export function keyConfig(setup: Setup): Stored | undefined {
  const own = configsOfAssistant(setup)
  const { provider } = settingsOf(modelConfig(setup))
  return ['credentials', `${plain(provider)}_credentials`].flatMap((name) =>
    own.filter((one) => plain(one.name) === name),
  )[0]
}

/** The config that chooses operations of an action. */
export function choosingConfig({ configs }: Pick<Setup, 'configs'>, action: number): Stored | undefined {
  return configs.find((one) => isOf(one, 'action', action) && Array.isArray(settingsOf(one).operations))
}

/** A config of an action in which settings stand that are no credentials. */
export function settingsConfig({ configs }: Setup, action: number): Stored | undefined {
  return configs.find((one) => isOf(one, 'action', action) && one.name === 'settings')
}

/** The config with what an action's server asks for. */
export function credentialsOf({ configs }: Pick<Setup, 'configs'>, action: number): Stored | undefined {
  return configs.find((one) => isOf(one, 'action', action) && one.name === 'credentials')
}

export const settingsOf = (config: Stored | undefined): Readonly<Record<string, unknown>> =>
  (config?.value as Record<string, unknown> | undefined) ?? {}

function textIn(document: Readonly<Record<string, unknown>> | undefined, field: string): string {
  const value = document?.[field]
  return typeof value === 'string' ? value : ''
}

function idIn(document: Stored, field: string): number | null {
  const value = document[field]
  return typeof value === 'number' ? value : null
}

export function idsIn(document: Stored | undefined, field: string): readonly number[] {
  const value = document?.[field]
  return Array.isArray(value) ? (value as number[]) : []
}
