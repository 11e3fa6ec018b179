import type { ResourceName } from '@parley/shared/configuration-resources'
import {
  choosingConfig,
  credentialsOf,
  idsIn,
  keyConfig,
  modelConfig,
  type Setup,
  type SetupForm,
  type SignIn,
  type Stored,
  settingsConfig,
  settingsOf,
  type ToolForm,
  unreadOf,
} from './setup-form.ts'

type Fields = Record<string, unknown>

/** One change of the configuration. Ids below zero in a body are of what an earlier one creates. */
export type Write =
  | { kind: 'create'; resource: ResourceName; ref?: number; body: Fields }
  /** The body is a merge patch (RFC 7396), so all that it does not name stays as it is. */
  | { kind: 'change'; resource: ResourceName; id: number; body: Fields }
  | { kind: 'delete'; resource: ResourceName; id: number }

/** The ids of what a form does not name because it has at most one of each. */
const NEW_JOB = -1_000_001
const NEW_ASSISTANT = -1_000_002

/** Returns the writes that turn `there` into the form's setup: referenced documents first, none if nothing differs. */
export function writesOf(form: SetupForm, there: Setup): Write[] {
  const assistant = there.assistant?._id ?? NEW_ASSISTANT
  const unread = unreadOf(there)
  const model = writesOfModel(form, there, assistant)
  return [
    ...(unread.workflow ? [] : [...writesOfSteps(form, there), ...writesOfWorkflow(form, there)]),
    ...(unread.job ? [] : writesOfJob(form, there)),
    ...form.tools.flatMap((tool) => writesOfTool(tool, there)),
    ...writesOfAssistant(form, there, model),
    ...model,
    // Credentials are stored for the addresses that are there then.
    ...form.tools.flatMap((tool) => writesOfSignIn(tool, there)),
    ...(form.model.key === '' ? [] : [keyWrite(form.model.key, there, assistant)]),
  ].filter((write) => !isNothing(write))
}

/** The list that the form says, in which what it does not know stays: the list as it is where only that differs. */
function listWith(ids: readonly number[], before: readonly number[], known: ReadonlySet<number>): number[] {
  const shown = [...new Set(before)].filter((id) => known.has(id))
  if (isSame(shown, ids)) return [...before]
  return [...ids, ...before.filter((id) => !known.has(id))]
}

const idsOf = (documents: readonly Stored[]): ReadonlySet<number> => new Set(documents.map(({ _id }) => _id))

const isNothing = (write: Write): boolean => write.kind === 'change' && Object.keys(write.body).length === 0

function writesOfSteps({ workflow }: SetupForm, there: Setup): Write[] {
  const byId = new Map(there.steps.map((step) => [step._id, step]))
  const created = new Set<number>()
  const late: Write[] = []
  const writes = [...(workflow?.steps ?? [])].reverse().map(({ id, next, ...said }): Write => {
    const step = byId.get(id)
    const isThere = next === null || next > 0 || created.has(next)
    if (!isThere) late.push({ kind: 'change', resource: 'steps', id, body: { next } })
    if (step !== undefined) return change('steps', step, { ...said, ...(isThere && { next }) })
    created.add(id)
    const body = { ...said, description: said.name, ...(isThere && { next }) }
    return { kind: 'create', resource: 'steps', ref: id, body }
  })
  return [...writes, ...late]
}

function writesOfWorkflow({ workflow }: SetupForm, there: Setup): Write[] {
  if (workflow === null) return []
  const { id, name, instructions, first } = workflow
  const fields = { name, instructions, steps: workflow.steps.map((step) => step.id), firstStep: first }
  if (there.workflow?._id === id) {
    const steps = listWith(fields.steps, idsIn(there.workflow, 'steps'), idsOf(there.steps))
    return [change('workflows', there.workflow, { ...fields, steps })]
  }
  return [{ kind: 'create', resource: 'workflows', ref: id, body: { ...fields, description: '' } }]
}

function writesOfJob({ role, goal, workflow }: SetupForm, there: Setup): Write[] {
  const defaultWorkflow = workflow?.id ?? null
  const fields = { role, goal, ...(!unreadOf(there).workflow && { defaultWorkflow }) }
  if (there.job !== undefined) return [change('jobs', there.job, fields)]
  if (role === '' && goal === '' && workflow === null) return []
  return [{ kind: 'create', resource: 'jobs', ref: NEW_JOB, body: { ...fields, description: '' } }]
}

function writesOfTool(tool: ToolForm, there: Setup): Write[] {
  const { id, operations, signIn: _signIn, ...fields } = tool
  const action = there.actions.find(({ _id }) => _id === id)
  const own: Write =
    action === undefined
      ? { kind: 'create', resource: 'actions', ref: id, body: fields }
      : change('actions', action, fields)
  const choosing = choosingConfig(there, id)
  const config = choosing ?? settingsConfig(there, id)
  if (config !== undefined) {
    const isSame = JSON.stringify(settingsOf(choosing).operations ?? null) === JSON.stringify(operations)
    return isSame ? [own] : [own, changeOfValue(config, { operations })]
  }
  if (operations === null) return [own]
  return [own, newConfig('settings', { owner: id, ownerType: 'action', value: { operations } })]
}

function writesOfAssistant(form: SetupForm, there: Setup, model: readonly Write[]): Write[] {
  const { name, description, backstory } = form
  const [job] = unreadOf(there).job ? [] : writesOfJob(form, there)
  const fields = {
    ...{ name, description, backstory },
    actions: form.tools.map(({ id }) => id),
    ...(job !== undefined && { job: there.job?._id ?? NEW_JOB }),
  }
  if (there.assistant === undefined)
    return [{ kind: 'create', resource: 'assistant', ref: NEW_ASSISTANT, body: fields }]
  const actions = listWith(fields.actions, idsIn(there.assistant, 'actions'), idsOf(there.actions))
  // A document that is still listed can't be deleted.
  const deleted = model.flatMap((write) => (write.kind === 'delete' ? [write.id] : []))
  const listed = idsIn(there.assistant, 'configs')
  const configs = listed.filter((id) => !deleted.includes(id))
  return [
    change('assistant', there.assistant, {
      ...{ ...fields, actions },
      ...(configs.length < listed.length && { configs }),
    }),
  ]
}

function writesOfModel({ model }: SetupForm, there: Setup, owner: number): Write[] {
  const config = modelConfig(there)
  const { provider, baseUrl } = model
  if (provider === '')
    return config === undefined ? [] : [{ kind: 'delete', resource: 'configs', id: config._id }]
  const value = { provider, model: model.model, baseUrl: baseUrl === '' ? null : baseUrl }
  if (config !== undefined) return [changeOfValue(config, value)]
  return [newConfig('model', { owner, ownerType: 'assistant', value: withoutNulls(value) })]
}

function keyWrite(apiKey: string, there: Setup, owner: number): Write {
  const config = keyConfig(there)
  // The same key is stored again where the address has changed.
  if (config !== undefined)
    return { kind: 'change', resource: 'configs', id: config._id, body: { value: { apiKey } } }
  return newConfig('credentials', { owner, ownerType: 'assistant', value: { apiKey } })
}

function writesOfSignIn({ id, signIn }: ToolForm, there: Setup): Write[] {
  if (signIn.kind === 'stored') return []
  const config = credentialsOf(there, id)
  if (signIn.kind === 'none')
    return config === undefined ? [] : [{ kind: 'delete', resource: 'configs', id: config._id }]
  const value = credentialsFor(signIn)
  if (config !== undefined) {
    const gone = Object.fromEntries(Object.keys(settingsOf(config)).map((key) => [key, null]))
    return [{ kind: 'change', resource: 'configs', id: config._id, body: { value: { ...gone, ...value } } }]
  }
  return [newConfig('credentials', { owner: id, ownerType: 'action', value })]
}

function credentialsFor({ kind, ...value }: SignIn): Fields {
  return kind === 'consent' ? { oauth: { grant: 'authorization_code' } } : value
}

const newConfig = (
  name: string,
  of: { owner: number; ownerType: 'assistant' | 'action'; value: Fields },
): Write => ({ kind: 'create', resource: 'configs', body: { name, ...of } })

/** A merge patch with the fields that are not as they are there. */
function change(resource: ResourceName, { _id: id, ...there }: Stored, fields: Fields): Write {
  const body = Object.entries(fields).filter(([name, value]) => !isSame(there[name], value))
  return { kind: 'change', resource, id, body: Object.fromEntries(body) }
}

function changeOfValue(config: Stored, value: Fields): Write {
  const { body } = change('configs', { _id: config._id, ...settingsOf(config) }, value) as { body: Fields }
  return {
    ...{ kind: 'change', resource: 'configs', id: config._id },
    body: Object.keys(body).length === 0 ? {} : { value: body },
  }
}

/** True if two values are equal; a value that is left out equals null, as an empty text or an empty list does. */
const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(plain(one)) === JSON.stringify(plain(other))

const plain = (value: unknown): unknown =>
  value === undefined || value === '' || (Array.isArray(value) && value.length === 0) ? null : value

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
