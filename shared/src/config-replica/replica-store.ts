import { createHash } from 'node:crypto'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { ResourceName } from '../configuration-resources.ts'
import { defined } from '../defined.ts'
import { isDuplicate } from '../insert-new.ts'
import { jsonObject, safeInteger } from '../json-object.ts'
import { own } from '../providers/own.ts'
import { allProviders } from '../providers/registry.ts'
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
  /** Of a channel: what it is named by at providers whose updates name the channel that they are for, hashed. */
  receiverHashes?: string[]
  /** When configuration was last asked for all channels of its receiver. */
  receiverReadAt?: Date
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

/**
 * Which documents of a workspace: the one with an id, the channels with an external id or with a provider's receiver, or
 * the configs of an owner.
 */
export type ReplicaQuery = { workspace: number } & (
  | { resource: ResourceName; id: number }
  | { resource: 'channels'; extId: string }
  | ReceiverQuery
  | OwnerQuery
)
type ReceiverQuery = { resource: 'channels' } & Receiver
/** A channel as a provider's updates name it. */
interface Receiver {
  provider: string
  receiver: string
}
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
    const hash =
      'receiver' in query ? { receiverHashes: receiverHashOf(query) } : { extIdHash: hashOf(query.extId) }
    return channelsOnly ? { workspace, ...hash } : { resource, workspace, ...hash }
  }
  const write = async (change: DocumentVersion, { readAt, isOfReceiver = false }: Read = {}) => {
    const { resource, workspace, id, version } = change
    const _id = idOf(resource, workspace, id)
    const document = sealSettledSecrets(change.document, box, workspace)
    const named = channelsOnly ? { _id, workspace, id } : { _id, resource, workspace, id }
    const content = contentOf(resource, document, { readAt, isOfReceiver })
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
      const read = { readAt, isOfReceiver: 'receiver' in query }
      for (const { version, ...document } of documents)
        await write({ resource, workspace, id: document._id as number, version, document }, read)
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

const receiverHashOf = ({ provider, receiver }: Receiver): string => hashOf(`${provider} ${receiver}`)

/** The names of a channel in the updates of providers. */
function receiversOf(channel: object | null): Receiver[] {
  return allProviders().flatMap(({ name, inbound }) => {
    const value = inbound?.receiver && own(channel, 'config', inbound.receiver)
    const isNamed = (typeof value === 'string' && value !== '') || typeof value === 'number'
    return isNamed ? [{ provider: name, receiver: String(value) }] : []
  })
}

/** True when it is the entry that says when all configs of an owner were read. */
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

/** When configuration was asked, and whether for all channels of a receiver. */
interface Read {
  readAt?: Date | undefined
  isOfReceiver?: boolean
}

/**
 * Builds a replica's content from its document, as expressions of the aggregation language. An answer also says when it was
 * read; an event leaves the times of reading alone, as long as external id and receivers are the same.
 */
function contentOf(
  resource: string,
  document: object | null,
  { readAt, isOfReceiver }: Read,
): mongo.Document {
  const isChannel = resource === 'channels'
  const extId = isChannel ? (document as { extId?: unknown } | null)?.extId : undefined
  const extIdHash = typeof extId === 'string' ? hashOf(extId) : undefined
  const receiverHashes = isChannel ? receiversOf(document).map(receiverHashOf) : []
  const whileSame = (field: string, value: unknown, time: string) => ({
    $cond: [{ $eq: [{ $ifNull: [field, null] }, value] }, time, '$$REMOVE'],
  })
  const hasReceivers = receiverHashes.length > 0
  return {
    readAt: (isOfReceiver ? undefined : readAt) ?? whileSame('$extIdHash', extIdHash ?? null, '$readAt'),
    ...(hasReceivers && {
      receiverHashes,
      receiverReadAt:
        (isOfReceiver ? readAt : undefined) ??
        whileSame('$receiverHashes', receiverHashes, '$receiverReadAt'),
    }),
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
    // When a newer version is stored, or is being stored, the upsert finds its id taken.
    if (!isDuplicate(error, '_id')) throw error
    await replicas.updateOne(older, [{ $replaceWith: replica }])
  }
}

/** Removes what was stored before configuration was asked and is not in its answer: it was deleted, or has another external id. */
async function removeOthers(
  replicas: mongo.Collection<DocumentReplica>,
  filter: mongo.Filter<DocumentReplica>,
  { ids, readAt }: { ids: number[]; readAt: Date },
): Promise<void> {
  await replicas.updateMany(
    { ...filter, id: { $nin: ids }, version: { $gt: OWNER_ENTRY_VERSION }, storedAt: { $lt: readAt } },
    {
      $unset: {
        document: '',
        extIdHash: '',
        ownerHash: '',
        readAt: '',
        receiverHashes: '',
        receiverReadAt: '',
      },
      $set: { expiresAt: new Date(Date.now() + TRACE_MS) },
    },
  )
}
