import { createHash } from 'node:crypto'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { ResourceName } from '../configuration-resources.ts'
import { defined } from '../defined.ts'
import { isDuplicate } from '../insert-new.ts'
import { jsonObject, safeInteger } from '../json-object.ts'
import { type SecretBox, sealSettledSecrets } from '../sealed-value.ts'
import { withTimeout } from '../with-timeout.ts'

const TRACE_MS = 30 * 24 * 60 * 60 * 1_000
const READ_MS = 1_000
const MAX_REPLICAS = 200
const OWNER_ENTRY_VERSION = 0

/** A document as configuration answers it, with its version. */
export interface ConfigurationDocument {
  _id: number
  version: number
  [field: string]: unknown
}

export const configurationDocument = jsonObject.pipe(
  z.custom<ConfigurationDocument>((value) => {
    const { _id, version } = value as Record<string, unknown>
    return safeInteger.safeParse(_id).success && safeInteger.safeParse(version).success
  }),
)

/** A service's own replica of a document. Configuration has the original. */
export interface DocumentReplica {
  /** `<resource>/<workspace>/<id>`, or `<workspace>/<id>` in a collection of channels alone. */
  _id: string
  /** Not there in a collection of channels alone. */
  resource?: ResourceName
  workspace: number
  id: number
  version: number
  /** Of a channel. External ids may be long: an index takes their hash. */
  extIdHash?: string
  /** The document as JSON text, whatever its keys, its secrets sealed; not there once it is deleted. */
  document?: string
  /**
   * Of a config, and of the entry that says when configuration was last asked for all configs of the owner: owner and
   * its type, hashed. That entry has no document, and version 0.
   */
  ownerHash?: string
  /** When configuration was last asked for it, or for all channels of its external id. */
  readAt?: Date
  storedAt: Date
  /** When the trace of a deleted document is removed. */
  expiresAt?: Date
}

/** Which documents of a workspace: the one with an id, the channels with an external id, or the configs of an owner. */
export type ReplicaQuery = { workspace: number } & (
  | { resource: ResourceName; id: number }
  | { resource: 'channels'; extId: string }
  | OwnerQuery
)
type OwnerQuery = { resource: 'configs'; owner: number; ownerType: string }

/** One version of a document; `document` is null once it is deleted. */
interface DocumentVersion {
  resource: ResourceName
  workspace: number
  id: number
  version: number
  document: object | null
}

/** The replicas in a service's database. A version older than the stored one is ignored. */
export interface ReplicaStore {
  /** The replicas, 200 at most, traces of deleted documents and the entry of an owner among them. Rejects after a second. */
  read(query: ReplicaQuery): Promise<DocumentReplica[]>
  /** Stores what an event says. */
  save(change: DocumentVersion): Promise<void>
  /** Stores what configuration answered to `query`, asked at `readAt`. */
  saveResponse(
    query: ReplicaQuery,
    response: { documents: ConfigurationDocument[]; readAt: Date },
  ): Promise<void>
}

/**
 * Secrets are stored as configuration has them, and sealed where instances of the release before, which read the same
 * replicas, can open them. `channelsOnly`: the collection does not name the resource.
 */
export function createReplicaStore(options: {
  replicas: mongo.Collection<DocumentReplica>
  box: Pick<SecretBox, 'seal'>
  channelsOnly?: boolean
}): ReplicaStore {
  const { replicas, box, channelsOnly = false } = options
  const idOf = (resource: ResourceName, workspace: number, id: number) =>
    channelsOnly ? `${workspace}/${id}` : `${resource}/${workspace}/${id}`
  const filterOf = (query: ReplicaQuery): mongo.Filter<DocumentReplica> => {
    const { resource, workspace } = query
    if ('id' in query) return { _id: idOf(resource, workspace, query.id) }
    if ('owner' in query) return { resource, workspace, ownerHash: ownerHashOf(query) }
    const extIdHash = hashOf(query.extId)
    return channelsOnly ? { workspace, extIdHash } : { resource, workspace, extIdHash }
  }
  const write = async (change: DocumentVersion, readAt?: Date) => {
    const { resource, workspace, id, version } = change
    const _id = idOf(resource, workspace, id)
    const document = sealSettledSecrets(change.document, box, workspace)
    const named = channelsOnly ? { _id, workspace, id } : { _id, resource, workspace, id }
    const content = contentOf(resource, document, readAt)
    await replaceOlder(replicas, { ...named, version, storedAt: new Date(), ...content }, readAt)
  }
  return {
    read: async (query) => {
      const found = replicas.find(filterOf(query), { maxTimeMS: READ_MS }).limit(MAX_REPLICAS)
      return withTimeout(READ_MS, found.toArray())
    },
    save: (change) => write(change),
    saveResponse: async (query, { documents, readAt }) => {
      const { resource, workspace } = query
      for (const { version, ...document } of documents)
        await write({ resource, workspace, id: document._id as number, version, document }, readAt)
      await removeOthers(replicas, filterOf(query), { ids: documents.map(({ _id }) => _id), readAt })
      if ('owner' in query) await markOwnerRead(replicas, { ...query, readAt })
    },
  }
}

function hashOf(extId: string): string {
  return createHash('sha256').update(extId).digest('base64url')
}

/** The type is free text. */
function ownerHashOf({ owner, ownerType }: { owner: unknown; ownerType: unknown }): string {
  return hashOf(`${owner} ${ownerType}`)
}

/** Whether it is the entry that says when all configs of an owner were read. */
export const isOwnerEntry = ({ version }: DocumentReplica): boolean => version === OWNER_ENTRY_VERSION

/** Stores that the replicas are all the configs of an owner, also where there are none. */
async function markOwnerRead(
  replicas: mongo.Collection<DocumentReplica>,
  query: OwnerQuery & { workspace: number; readAt: Date },
): Promise<void> {
  const { resource, workspace, owner, readAt } = query
  const ownerHash = ownerHashOf(query)
  const expiresAt = new Date(Date.now() + TRACE_MS)
  await replicas.replaceOne(
    { _id: `${resource}/${workspace}/of/${ownerHash}` },
    {
      resource,
      workspace,
      id: owner,
      version: OWNER_ENTRY_VERSION,
      ownerHash,
      readAt,
      storedAt: readAt,
      expiresAt,
    },
    { upsert: true },
  )
}

/**
 * What a replica says of its document, as expressions of the aggregation language. An answer also says when it was
 * read; an event leaves the time of reading alone, as long as the external id is the same.
 */
function contentOf(resource: string, document: object | null, readAt: Date | undefined): mongo.Document {
  const extId = resource === 'channels' ? (document as { extId?: unknown } | null)?.extId : undefined
  const extIdHash = typeof extId === 'string' ? hashOf(extId) : undefined
  const unchangedReadAt = {
    $cond: [{ $eq: [{ $ifNull: ['$extIdHash', null] }, extIdHash ?? null] }, '$readAt', '$$REMOVE'],
  }
  return {
    readAt: readAt ?? unchangedReadAt,
    ...(document === null
      ? { expiresAt: new Date(Date.now() + TRACE_MS) }
      : { document: { $literal: JSON.stringify(document) } }),
    ...defined({ extIdHash }),
    ...(resource === 'configs' && document !== null
      ? { ownerHash: ownerHashOf(document as { owner: unknown; ownerType: unknown }) }
      : {}),
  }
}

/** Writes a version over an older one, or none; an answer of configuration also over the same version. */
async function replaceOlder(
  replicas: mongo.Collection<DocumentReplica>,
  replica: mongo.Document & { _id: string; version: number },
  readAt: Date | undefined,
): Promise<void> {
  const { _id, version } = replica
  const older = { _id, version: readAt === undefined ? { $lt: version } : { $lte: version } }
  try {
    await replicas.updateOne(older, [{ $replaceWith: replica }], { upsert: true })
  } catch (error) {
    // When a newer version is stored, the upsert finds its id taken.
    if (!isDuplicate(error, '_id')) throw error
  }
}

/** What was stored before configuration was asked and is not in its answer was deleted, or has another external id. */
async function removeOthers(
  replicas: mongo.Collection<DocumentReplica>,
  filter: mongo.Filter<DocumentReplica>,
  { ids, readAt }: { ids: number[]; readAt: Date },
): Promise<void> {
  await replicas.updateMany(
    { ...filter, id: { $nin: ids }, version: { $gt: OWNER_ENTRY_VERSION }, storedAt: { $lt: readAt } },
    {
      $unset: { document: '', extIdHash: '', ownerHash: '', readAt: '' },
      $set: { expiresAt: new Date(Date.now() + TRACE_MS) },
    },
  )
}
