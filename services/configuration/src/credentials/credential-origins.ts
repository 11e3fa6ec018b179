import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import type { JsonObject } from '@parley/shared/json-object'
import { nativeServers } from '@parley/shared/native-request'
import { boundSecretOf } from '@parley/shared/providers/bound-secret'
import { isSealed } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { type ResourceDefinition, valueAt } from '../resources/definition.ts'
import type { SpecReader } from '../specs/spec-reader.ts'
import type { Database } from '../store/database.ts'
import { liveDocument, type ResourceDocument } from '../store/stored-document.ts'
import { isCredentials, modelOrigins } from './model-origins.ts'
import { assistantsWith, configsOf, type UsedConfig } from './used-configs.ts'

/** Each write of the document writes them all. */
const MAX_ORIGINS = 100

export interface Origins {
  database: Pick<Database, 'documents'>
  specs: Pick<SpecReader, 'originOf'>
}

type Credentials = Pick<UsedConfig, '_id' | 'name' | 'owner' | 'ownerType'>

/**
 * Where the secrets of a document that is about to be written may go, as far as that is settled: to the origins of the
 * addresses that there were when they were given. Undefined where they go wherever their address leads, because it has
 * not changed since; for credentials until there is an address.
 */
export async function originsOfWrite(
  { database, specs }: Origins,
  write: {
    definition: ResourceDefinition
    workspace: number
    current: ResourceDocument | undefined
    doc: ResourceDocument
    /** The body that `doc` was made of, before its secrets were sealed. */
    sent: JsonObject
  },
): Promise<string[] | undefined> {
  const { definition, workspace, current, doc, sent } = write
  if (definition.name === 'channels') return channelOrigins(current, doc, sent)
  if (definition.name !== 'configs') return undefined
  const find = (of: ResourceDocument) =>
    isCredentials(of.name)
      ? originsOfCredentials({ database, specs }, workspace, credentialsIn(of))
      : undefined
  if (current === undefined || isGiven(sent.value, current.value)) return find(doc)
  return (current.origins as string[] | undefined) ?? find(current)
}

const credentialsIn = ({ _id, name, owner, ownerType }: ResourceDocument): Credentials => ({
  _id,
  name: String(name),
  owner,
  ownerType,
})

/** One document has a channel's token and its address: only a token that stays behind when that changes is bound. */
function channelOrigins(
  current: ResourceDocument | undefined,
  doc: ResourceDocument,
  sent: JsonObject,
): string[] | undefined {
  const bound = boundSecretOf(doc)
  if (current === undefined || bound === undefined) return undefined
  const before = boundSecretOf(current)
  const secretIn = (of: JsonObject) => valueAt(of, `config.${bound.key}`)
  if (before?.key !== bound.key || isGiven(secretIn(sent), secretIn(current))) return undefined
  const origins = (current.origins as string[] | undefined) ?? [originOf(before.url)]
  return origins.includes(originOf(bound.url)) ? undefined : origins
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : '')

/**
 * The origins of what uses these credentials now. Undefined where nothing that is there says where they go; empty where
 * their action is there and has no origin.
 */
export async function originsOfCredentials(
  { database, specs }: Origins,
  workspace: number,
  credentials: Credentials,
): Promise<string[] | undefined> {
  const { name, owner, ownerType } = credentials
  const action =
    ownerType === 'action' && name === CREDENTIALS_CONFIG
      ? liveDocument(await database.documents('actions').findOne({ _id: { workspace, id: Number(owner) } }))
          ?.doc
      : undefined
  const origins = new Set(action && (await actionOrigins(specs, { workspace, action })))
  for (const assistant of await assistantsWith({ database, workspace }, credentials))
    for (const origin of modelOrigins(name, await configsOf({ database, workspace }, assistant)))
      origins.add(origin)
  return action === undefined && origins.size === 0 ? undefined : [...origins].slice(0, MAX_ORIGINS)
}

async function actionOrigins(
  specs: Origins['specs'],
  { workspace, action }: { workspace: number; action: ResourceDocument },
): Promise<string[]> {
  const { specType, moduleUrl, spec } = action
  if (specType === 'mcp') return URL.canParse(String(moduleUrl)) ? [new URL(String(moduleUrl)).origin] : []
  const origin =
    nativeServers(String(moduleUrl)) === undefined
      ? undefined
      : await specs.originOf({ workspace, spec: String(spec), moduleUrl: String(moduleUrl) })
  return origin === undefined ? [] : [origin]
}

/**
 * Whether a write says the secrets in a value itself: not where one of them is masked, or left as it is stored. `sent`
 * is the value before its secrets are sealed, `stored` the one that it replaces.
 */
function isGiven(sent: unknown, stored: unknown): boolean {
  const sealed = new Set([...textsIn(stored)].filter(isSealed))
  for (const text of textsIn(sent)) if (text === MASK || sealed.has(text)) return false
  return true
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  for (const inner of Object.values(value as JsonObject)) yield* textsIn(inner)
}
