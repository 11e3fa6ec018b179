import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { z } from 'zod'
import { WORKFLOWS_CONFIG } from '../resources/config.ts'
import type { Database } from '../store/database.ts'
import { LIVE, listIndex, liveDocument } from '../store/stored-document.ts'
import { readDocument } from './find-task.ts'

const MAX_WORKFLOWS = 50
const MAX_CONFIGS = 200
const MAX_MS = 5_000

const workflowsConfig = z.looseObject({ ids: z.array(z.number()) })

/**
 * What an assistant may start: the default workflow of its job, and those that its config `workflows` names as
 * `{ids}`; each once, 50 at most.
 */
export async function startableWorkflows(
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
