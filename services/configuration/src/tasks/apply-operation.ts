import { WORKFLOWS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { Problem } from '@parley/shared/problem'
import type { TaskOperation, TaskOperationResult } from '@parley/shared/task-operation'
import { z } from 'zod'
import { withoutOwnFields } from '../documents/body.ts'
import { definitions } from '../resources/all-resources.ts'
import { requireFewSecrets } from '../secrets/seal-fields.ts'
import type { Database } from '../store/database.ts'
import { LIVE, listIndex, liveDocument } from '../store/stored-document.ts'
import { applySubmission, isStopped, objectOr } from './apply-submission.ts'
import { applyOnce, changeActiveTask, type Needed, startTask } from './change-task.ts'
import { appliedTask, findTask, readDocument, stepsOf, taskOf, withChannel } from './find-task.ts'

const MAX_WORKFLOWS = 50
const MAX_CONFIGS = 200
const MAX_MS = 5_000

const workflowsConfig = z.looseObject({ ids: z.array(z.number()) })

const MAX_SUBMIT_CHARACTERS = 64 * 1024
const MAX_STATE_CHARACTERS = 64 * 1024
const MAX_NAMED = 20

type Given = TaskOperation & { workspace: number }

type Applied = { kind: 'applied' } | { kind: 'refused'; text: string }
const applied: Applied = { kind: 'applied' }
const refused = (text: string): Applied => ({ kind: 'refused', text })

/**
 * Applies what an agent does with the task of its thread, once for each id, and says what came of it. What can't be
 * done is `failed` with a reason. Rejects while the database is unavailable.
 */
export async function applyOperation(needed: Needed, asked: Given): Promise<TaskOperationResult> {
  const given = await withChannel(needed.database, asked)
  try {
    const result = await outcomeOf(needed, given)
    return result.kind === 'refused' ? { state: 'failed', text: result.text } : await described(needed, given)
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
    const [first] = error.options.errors ?? []
    const at = first === undefined ? '' : ` ${first.path} ${first.message}`
    return { state: 'failed', text: `It can't be stored: ${error.message}.${at}` }
  }
}

function outcomeOf(needed: Needed, given: Given): Promise<Applied> {
  const { operation } = given
  switch (operation.kind) {
    case 'submit':
      return submit(needed, given, operation.submit)
    case 'createTask':
      return createTask(needed, given, operation.workflow)
    case 'changeStep':
      return changed(needed, given, (task) => atStep(needed, given, { task, name: operation.step }))
    case 'cancelTask':
      return changed(needed, given, async (task) => ({ ...task, status: 'cancelled' }))
    case 'setState':
      return changed(needed, given, async (task) => withState(task, operation))
  }
}

async function submit(needed: Needed, given: Given, submitted: JsonObject): Promise<Applied> {
  if (JSON.stringify(submitted).length > MAX_SUBMIT_CHARACTERS)
    return refused(`What is submitted is longer than ${MAX_SUBMIT_CHARACTERS} characters of JSON.`)
  requireFewSecrets(submitted)
  const { operation: _operation, id: messageId, ...scope } = given
  const submission = { ...scope, messageId, submit: submitted, at: new Date().toISOString() }
  const outcome = await applySubmission(needed, submission)
  if (outcome === 'stopped') return refused(STOPPED)
  return outcome === 'no_task' ? refused('There is no active task, and no workflow to start.') : applied
}

const STOPPED = "The thread's task is pending or failed: a person has stopped it."

function createTask(needed: Needed, given: Given, name: string): Promise<Applied> {
  const { database } = needed
  const applying = { ...given, messageId: given.id }
  return applyOnce(needed, applying, async () => {
    if ((await findTask(database, { ...given, status: 'active' })) !== null)
      return refused('There is an active task already. Complete or cancel it first.')
    if (await isStopped(needed, given)) return refused(STOPPED)
    const workflows = await startableWorkflows(database, given)
    const workflow = workflows.find((one) => one.name === name)
    if (workflow === undefined) return refused(unknownName('workflow', name, workflows))
    const fields = taskOf(workflow, given.thread)
    if (fields === undefined) return refused(`The workflow ${quoted(name)} has no steps.`)
    await startTask(needed, applying, fields)
    return applied
  }).then((result) => (result === 'repeated' ? applied : result))
}

/** Changes the active task by what `fieldsOf` makes of its fields; nothing is written where that is a refusal. */
async function changed(
  needed: Needed,
  given: Given,
  fieldsOf: (task: JsonObject) => Promise<JsonObject | Refusal>,
): Promise<Applied> {
  const applying = { ...given, messageId: given.id }
  try {
    const result = await applyOnce(needed, applying, async () => {
      const found = await findTask(needed.database, { ...given, status: 'active' })
      if (found === null) return refused('There is no active task.')
      await changeActiveTask(needed, { ...applying, id: found._id.id }, async (task) => {
        const fields = await fieldsOf(withoutOwnFields(definitions.tasks, task))
        if (fields instanceof Refusal) throw fields
        return fields
      })
      return applied
    })
    return result === 'repeated' ? applied : result
  } catch (error) {
    if (error instanceof Refusal) return refused(error.message)
    throw error
  }
}

/** Nothing is written: the message says why. */
class Refusal extends Error {}

async function atStep(
  { database }: Needed,
  { workspace }: Given,
  { task, name }: { task: JsonObject; name: string },
): Promise<JsonObject | Refusal> {
  const workflow = await readDocument(database, 'workflows', { workspace, id: task.workflow })
  if (workflow === undefined) return new Refusal("The task's workflow was deleted.")
  const steps = await stepsOf(database, { workspace, workflow })
  const step = steps.find((one) => one.name === name)
  if (step === undefined) return new Refusal(unknownName('step', name, steps))
  return { ...task, currentStep: step._id }
}

function withState(task: JsonObject, { key, value }: { key: string; value: unknown }): JsonObject | Refusal {
  requireFewSecrets({ [key]: value })
  const context = objectOr(task.context)
  const state = Object.fromEntries([...Object.entries(objectOr(context.state)), [key, value ?? null]])
  if (JSON.stringify(state).length > MAX_STATE_CHARACTERS)
    return new Refusal(`The state would be longer than ${MAX_STATE_CHARACTERS} characters of JSON.`)
  return { ...task, context: { ...context, state } }
}

/** How the task stands that it was applied to, also when that was before. */
async function described({ database }: Needed, given: Given): Promise<TaskOperationResult> {
  const { workspace, id: messageId, operation } = given
  const task = await appliedTask(database, { workspace, messageId })
  if (task === undefined) return { state: 'done', text: 'Done. The task was deleted since.' }
  const name = quoted(String(task.name))
  if (operation.kind === 'setState')
    return { state: 'done', text: `The state of the task ${name} has ${quoted(operation.key)}.` }
  if (task.status !== 'active') return { state: 'done', text: `The task ${name} is ${task.status}.` }
  const step = await readDocument(database, 'steps', { workspace, id: task.currentStep })
  const at = step === undefined ? 'a step that does not exist' : `the step ${quoted(String(step.name))}`
  return { state: 'done', text: `The task ${name} is at ${at}.` }
}

function unknownName(what: 'workflow' | 'step', name: string, known: JsonObject[]): string {
  const names = known.slice(0, MAX_NAMED).map((one) => quoted(String(one.name)))
  return `There is no ${what} ${quoted(name)} here. There are: ${names.join(', ') || 'none'}.`
}

const MAX_QUOTED = 200

const quoted = (text: string): string => JSON.stringify(text.slice(0, MAX_QUOTED).toWellFormed())

/**
 * What an assistant may start: the default workflow of its job, and those that its config `workflows` names as
 * `{ids}`; each once, 50 at most.
 */
async function startableWorkflows(
  database: Pick<Database, 'documents'>,
  { workspace, assistantId }: { workspace: number; assistantId: number | null },
): Promise<JsonObject[]> {
  const assistant = await readDocument(database, 'assistant', { workspace, id: assistantId })
  if (assistant === undefined) return []
  const job = await readDocument(database, 'jobs', { workspace, id: assistant.job })
  const configured = await configuredWorkflows(database, { workspace, assistant })
  const ids = [...new Set([job?.defaultWorkflow, ...configured])].slice(0, MAX_WORKFLOWS)
  const workflows = await Promise.all(ids.map((id) => readDocument(database, 'workflows', { workspace, id })))
  return workflows.filter((workflow) => workflow !== undefined)
}

async function configuredWorkflows(
  database: Pick<Database, 'documents'>,
  { workspace, assistant }: { workspace: number; assistant: JsonObject },
): Promise<number[]> {
  const listed = ((assistant.configs as number[] | null | undefined) ?? []).slice(0, MAX_CONFIGS)
  const named = await Promise.all(listed.map((id) => readDocument(database, 'configs', { workspace, id })))
  const owned = await database
    .documents('configs')
    .find(
      { '_id.workspace': workspace, ...LIVE, 'keys.owner': assistant._id, 'keys.ownerType': 'assistant' },
      { hint: listIndex({ filter: 'owner', sort: '_id' }), maxTimeMS: MAX_MS },
    )
    .limit(MAX_CONFIGS)
    .toArray()
  const configs = [...named, ...owned.map((one) => liveDocument(one)?.doc)]
  const config = configs.find((one) => one?.name === WORKFLOWS_CONFIG)
  return workflowsConfig.safeParse(jsonObject.safeParse(config?.value).data).data?.ids ?? []
}
