import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { config } from '../resources/config.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Database } from '../store/database.ts'
import { changeAsRuntime } from '../store/runtime-change.ts'
import type { ResourceDocument } from '../store/stored-document.ts'
import { type Origins, originsOfCredentials } from './credential-origins.ts'
import { isCredentials, isModel } from './model-origins.ts'
import {
  type AssistantConfigs,
  assistantsWith,
  configsOf,
  ownedConfigs,
  type UsedConfig,
} from './used-configs.ts'

type Needed = Origins & { database: Database }

/**
 * Binds the credentials whose address a write may change to the origins that they have now, unless they are bound
 * already. Called before each such write, so that no credential follows an address from one origin to another, and after
 * it, so that few are left to do that for. Those without an address are bound to none where `mayGive` says that the writer
 * may not give them their first one.
 */
export async function bindCredentials(
  needed: Needed,
  write: {
    definition: ResourceDefinition
    workspace: number
    before: ResourceDocument | undefined
    after: ResourceDocument | undefined
    mayGive?: (credentials: ResourceDocument) => boolean
  },
): Promise<void> {
  const { definition, workspace, before, after, mayGive = () => true } = write
  const documents = [before, after].filter((doc) => doc !== undefined)
  if (before !== undefined && after !== undefined && isSameAddress(definition, before, after)) return
  const affected = await affectedBy({ ...needed, workspace }, definition, documents)
  const unbound = new Map(
    affected.flatMap((config) =>
      isCredentials(config.name) && config.origins === undefined ? [[config._id, config] as const] : [],
    ),
  )
  for (const credentials of unbound.values()) {
    const origins = await originsOfCredentials(needed, workspace, credentials)
    await bind(needed, {
      workspace,
      id: credentials._id,
      originsOf: (doc) => origins ?? (mayGive(doc) ? undefined : []),
    })
  }
}

/** The fields of a resource that say where credentials go. */
const ADDRESS_FIELDS: Readonly<Record<string, readonly string[]>> = {
  actions: ['specType', 'moduleUrl', 'spec'],
  assistant: ['configs'],
  configs: ['name', 'owner', 'ownerType', 'value'],
}

function isSameAddress(
  { name }: ResourceDefinition,
  before: ResourceDocument,
  after: ResourceDocument,
): boolean {
  const addressOf = (doc: ResourceDocument) =>
    JSON.stringify(ADDRESS_FIELDS[name]?.map((field) => doc[field]))
  return addressOf(before) === addressOf(after)
}

type Lookup = Needed & { workspace: number }

async function affectedBy(
  lookup: Lookup,
  { name }: ResourceDefinition,
  documents: readonly ResourceDocument[],
): Promise<UsedConfig[]> {
  const [first] = documents
  if (first === undefined) return []
  if (name === 'actions') {
    const owned = await ownedConfigs(lookup, { owner: first._id, ownerType: 'action' })
    return owned.filter((config) => config.name === CREDENTIALS_CONFIG)
  }
  if (name === 'assistant') return configsOfAll(lookup, documents)
  if (name !== 'configs') return []
  const models = documents.filter((doc) => isModel(doc.name))
  const assistants = await Promise.all(models.map((model) => assistantsWith(lookup, model)))
  return configsOfAll(lookup, assistants.flat())
}

async function configsOfAll(lookup: Lookup, assistants: readonly AssistantConfigs[]): Promise<UsedConfig[]> {
  const found: UsedConfig[] = []
  for (const assistant of assistants) found.push(...(await configsOf(lookup, assistant)))
  return found
}

async function bind(
  { database }: Needed,
  {
    workspace,
    id,
    originsOf,
  }: { workspace: number; id: number; originsOf(doc: ResourceDocument): string[] | undefined },
): Promise<void> {
  await changeAsRuntime({ database, definition: config, address: { workspace, id } }, (doc) => {
    const origins = doc.origins === undefined ? originsOf(doc) : undefined
    return origins && { ...doc, origins }
  })
}
