import { keepNewest } from '@parley/shared/keep-newest'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import type { Collections } from '../store/collections.ts'
import type { DocumentReplica, ReplicatedResource } from '../store/document-replica.ts'
import { type ConfigurationDocument, hashOf } from './configuration-document.ts'

const TRACE_MS = 30 * 24 * 60 * 60 * 1_000
const READ_MS = 1_000
const MAX_REPLICAS = 200

/** Which documents of a workspace: the one with an id, or the channels with an external id. */
export type ReplicaQuery = { workspace: number } & (
  | { resource: ReplicatedResource; id: number }
  | { resource: 'channels'; extId: string }
)

/** One version of a document; `document` is null once it is deleted. */
export interface DocumentVersion {
  resource: ReplicatedResource
  workspace: number
  id: number
  version: number
  document: object | null
}

/** The replicas in the dispatcher's database. A version older than the stored one is ignored. */
export interface ReplicaStore {
  /** The replicas, 200 at most, traces of deleted documents among them. Rejects after a second. */
  read(query: ReplicaQuery): Promise<DocumentReplica[]>
  /** Keeps what an event says. */
  save(change: DocumentVersion): Promise<void>
  /** Keeps what configuration answered, asked at `readAt`, for all that is wanted. */
  saveAnswer(query: ReplicaQuery, answer: { documents: ConfigurationDocument[]; readAt: Date }): Promise<void>
}

/** Secrets are kept sealed, however they came. */
export function createReplicaStore(
  replicas: Collections['replicas'],
  box: Pick<SecretBox, 'seal'>,
): ReplicaStore {
  const sealed = (change: DocumentVersion): DocumentVersion => ({
    ...change,
    document: sealSecrets(change.document, box, change.workspace),
  })
  return {
    read: (query) => replicas.find(filterOf(query), { maxTimeMS: READ_MS }).limit(MAX_REPLICAS).toArray(),
    save: (change) => write(replicas, sealed(change), undefined),
    saveAnswer: async (query, { documents, readAt }) => {
      const { resource, workspace } = query
      for (const { version, ...document } of documents) {
        await write(
          replicas,
          sealed({ resource, workspace, id: document._id as number, version, document }),
          readAt,
        )
      }
      await forgetOthers(replicas, { query, ids: documents.map(({ _id }) => _id), readAt })
    },
  }
}

function filterOf(query: ReplicaQuery): mongo.Filter<DocumentReplica> {
  const { resource, workspace } = query
  if ('id' in query) return { _id: `${resource}/${workspace}/${query.id}` }
  return { resource, workspace, extIdHash: hashOf(query.extId) }
}

/**
 * An answer also writes the version that is stored: it says again what that version is, and when it was read. An
 * event leaves the time of reading alone, as long as the external id is the same.
 */
async function write(
  replicas: Collections['replicas'],
  { resource, workspace, id, version, document }: DocumentVersion,
  readAt: Date | undefined,
): Promise<void> {
  const extId = resource === 'channels' ? (document as { extId?: unknown } | null)?.extId : undefined
  const extIdHash = typeof extId === 'string' ? hashOf(extId) : undefined
  const content =
    document === null
      ? { expiresAt: new Date(Date.now() + TRACE_MS) }
      : {
          ...(extIdHash === undefined ? {} : { extIdHash }),
          document: { $literal: JSON.stringify(document) },
        }
  const unchangedReadAt = {
    $cond: [{ $eq: [{ $ifNull: ['$extIdHash', null] }, extIdHash ?? null] }, '$readAt', '$$REMOVE'],
  }
  const _id = `${resource}/${workspace}/${id}`
  const replica = {
    _id,
    resource,
    workspace,
    id,
    version,
    storedAt: new Date(),
    ...content,
    readAt: readAt ?? unchangedReadAt,
  }
  await keepNewest(replicas, replica, { orSame: readAt !== undefined })
}

/** What was stored before configuration was asked and is not in its answer was deleted, or has another external id. */
async function forgetOthers(
  replicas: Collections['replicas'],
  { query, ids, readAt }: { query: ReplicaQuery; ids: number[]; readAt: Date },
): Promise<void> {
  await replicas.updateMany(
    { ...filterOf(query), id: { $nin: ids }, storedAt: { $lt: readAt } },
    {
      $unset: { document: '', extIdHash: '', readAt: '' },
      $set: { expiresAt: new Date(Date.now() + TRACE_MS) },
    },
  )
}
