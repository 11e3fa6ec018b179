import type { JsonObject } from '@parley/shared/json-object'
import type { TaskSubmission } from '@parley/shared/task-submission'
import type { ResourceName } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { liveDocument } from '../store/stored-document.ts'

type Documents = Pick<Database, 'documents'>

/**
 * The task that a thread without one begins with: at the first step of the default workflow of its assistant's
 * job. Undefined where one of these is missing.
 */
export async function firstTask(
  database: Documents,
  { workspace, assistantId, thread }: TaskSubmission,
): Promise<JsonObject | undefined> {
  const read = (resource: ResourceName, id: unknown) => readDocument(database, resource, { workspace, id })
  const assistant = await read('assistant', assistantId)
  const job = await read('jobs', assistant?.job)
  const workflow = await read('workflows', job?.defaultWorkflow)
  const first = workflow?.firstStep ?? (workflow?.steps as number[] | null | undefined)?.[0]
  if (workflow === undefined || first === undefined) return undefined
  return {
    workflow: workflow._id,
    currentStep: first,
    status: 'active',
    name: workflow.name,
    description: workflow.description,
    extId: thread,
  }
}

/** The document that a reference leads to, if there is one. */
export async function readDocument(
  database: Documents,
  resource: ResourceName,
  { workspace, id }: { workspace: number; id: unknown },
): Promise<JsonObject | undefined> {
  if (typeof id !== 'number') return undefined
  return liveDocument(await database.documents(resource).findOne({ _id: { workspace, id } }))?.doc
}
