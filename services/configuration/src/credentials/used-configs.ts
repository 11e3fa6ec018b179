import type { JsonObject } from '@parley/shared/json-object'
import { unescapeKeys } from '@parley/shared/safe-keys'
import type { Database } from '../store/database.ts'
import { LIVE, listIndex, type StoredDocument } from '../store/stored-document.ts'

const MAX_CONFIGS = 200
const MAX_ASSISTANTS = 200
const MAX_MS = 5_000

/** Of a config only what says where a model is, and where its secrets go. */
export interface UsedConfig {
  _id: number
  name: string
  owner: unknown
  ownerType: unknown
  value: JsonObject
  origins?: string[]
}

/** An assistant, whether or not there is one yet, by what it names. */
export interface AssistantConfigs {
  _id: number
  configs?: unknown
}

interface Lookup {
  database: Pick<Database, 'documents'>
  workspace: number
}

/** The configs of an assistant in the order in which it takes them: those it names, then those it owns; 200 of each at most. */
export async function configsOf(lookup: Lookup, assistant: AssistantConfigs): Promise<UsedConfig[]> {
  const listed = (Array.isArray(assistant.configs) ? assistant.configs : []).slice(0, MAX_CONFIGS)
  const byId = new Map((await configsById(lookup, listed)).map((config) => [config._id, config] as const))
  return [
    ...listed.flatMap((id) => byId.get(id) ?? []),
    ...(await ownedConfigs(lookup, { owner: assistant._id, ownerType: 'assistant' })),
  ]
}

/** Those of an owner, lowest id first, 200 at most. */
export function ownedConfigs(
  lookup: Lookup,
  { owner, ownerType }: { owner: number; ownerType: 'assistant' | 'action' },
): Promise<UsedConfig[]> {
  return readConfigs(lookup, { 'keys.owner': owner, 'keys.ownerType': ownerType })
}

function configsById(lookup: Lookup, ids: readonly unknown[]): Promise<UsedConfig[]> {
  const { workspace } = lookup
  const addresses = [...new Set(ids)].map((id) => ({ workspace, id: Number(id) }))
  return addresses.length === 0 ? Promise.resolve([]) : readConfigs(lookup, { _id: { $in: addresses } })
}

async function readConfigs(
  { database, workspace }: Lookup,
  filter: Record<string, unknown>,
): Promise<UsedConfig[]> {
  const fields = ['_id', 'name', 'owner', 'ownerType', 'origins']
  const settings = ['provider', 'baseUrl', 'fallbacks']
  const found = await database
    .documents('configs')
    .find({ '_id.workspace': workspace, ...LIVE, ...filter })
    .project<Pick<StoredDocument, 'doc'>>(
      Object.fromEntries(
        [...fields, ...settings.map((name) => `value.${name}`)].map((path) => [`doc.${path}`, 1]),
      ),
    )
    .sort({ '_id.id': 1 })
    .limit(MAX_CONFIGS)
    .maxTimeMS(MAX_MS)
    .toArray()
  return found.flatMap(({ doc }) => (doc === undefined ? [] : [unescapeKeys(doc) as unknown as UsedConfig]))
}

/** The assistants that have a config, by naming or by owning it, 200 at most. */
export async function assistantsWith(
  { database, workspace }: Lookup,
  config: { _id: number; owner?: unknown; ownerType?: unknown },
): Promise<AssistantConfigs[]> {
  const assistants = database.documents('assistant')
  const project = { 'doc._id': 1, 'doc.configs': 1 }
  const listing = await assistants
    .find({ '_id.workspace': workspace, ...LIVE, 'keys.configs': config._id })
    .hint(listIndex({ filter: 'configs', sort: '_id' }))
    .project<Pick<StoredDocument, 'doc'>>(project)
    .limit(MAX_ASSISTANTS)
    .maxTimeMS(MAX_MS)
    .toArray()
  const owner =
    config.ownerType === 'assistant'
      ? await assistants.findOne(
          { _id: { workspace, id: Number(config.owner) }, ...LIVE },
          { projection: project },
        )
      : null
  return [owner, ...listing].flatMap((found) => (found?.doc === undefined ? [] : [found.doc]))
}
