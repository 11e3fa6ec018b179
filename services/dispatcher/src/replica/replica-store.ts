import { keepNewest } from '@parley/shared/keep-newest'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import type { Collections } from '../store/collections.ts'
import type { ConfiguredResource, DocumentReplica } from '../store/document-replica.ts'
import { type ConfiguredDocument, hashOf } from './configuration-document.ts'

const TRACE_MS = 30 * 24 * 60 * 60 * 1_000
const READ_MS = 1_000
const MAX_COPIES = 200

/** Which documents of a workspace: the one with an id, or the channels with an external id. */
export type Wanted = { workspace: number } & (
  | { resource: ConfiguredResource; id: number }
  | { resource: 'channels'; extId: string }
)

/** One version of a document; `document` is null once it is deleted. */
export interface DocumentVersion {
  resource: ConfiguredResource
  workspace: number
  id: number
  version: number
  document: object | null
}

/** The copies in the dispatcher's database. A version older than the one held is ignored. */
export interface ConfiguredStore {
  /** The copies, 200 at most, traces of deleted documents among them. Rejects after a second. */
  read(wanted: Wanted): Promise<DocumentReplica[]>
  /** Keeps what an event says. */
  keep(change: DocumentVersion): Promise<void>
  /** Keeps what configuration answered, asked at `readAt`, for all that is wanted. */
  keepAnswer(wanted: Wanted, answer: { documents: ConfiguredDocument[]; readAt: Date }): Promise<void>
}

/** Secrets are kept sealed, however they came. */
export function createConfiguredStore(
  configured: Collections['configured'],
  box: Pick<SecretBox, 'seal'>,
): ConfiguredStore {
  const sealed = (change: DocumentVersion): DocumentVersion => ({
    ...change,
    document: sealSecrets(change.document, box, change.workspace),
  })
  return {
    read: (wanted) => configured.find(filterOf(wanted), { maxTimeMS: READ_MS }).limit(MAX_COPIES).toArray(),
    keep: (change) => write(configured, sealed(change), undefined),
    keepAnswer: async (wanted, { documents, readAt }) => {
      const { resource, workspace } = wanted
      for (const { version, ...document } of documents) {
        await write(
          configured,
          sealed({ resource, workspace, id: document._id as number, version, document }),
          readAt,
        )
      }
      await forgetOthers(configured, { wanted, ids: documents.map(({ _id }) => _id), readAt })
    },
  }
}

function filterOf(wanted: Wanted): mongo.Filter<DocumentReplica> {
  const { resource, workspace } = wanted
  if ('id' in wanted) return { _id: `${resource}/${workspace}/${wanted.id}` }
  return { resource, workspace, extIdHash: hashOf(wanted.extId) }
}

/**
 * An answer also writes the version that is held: it says again what that version is, and when it was read. An
 * event leaves the time of reading alone, as long as the external id is the same.
 */
async function write(
  configured: Collections['configured'],
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
  const kept = {
    $cond: [{ $eq: [{ $ifNull: ['$extIdHash', null] }, extIdHash ?? null] }, '$readAt', '$$REMOVE'],
  }
  const _id = `${resource}/${workspace}/${id}`
  const copy = {
    _id,
    resource,
    workspace,
    id,
    version,
    storedAt: new Date(),
    ...content,
    readAt: readAt ?? kept,
  }
  await keepNewest(configured, copy, { orSame: readAt !== undefined })
}

/** What was held before configuration was asked and is not in its answer was deleted, or has another external id. */
async function forgetOthers(
  configured: Collections['configured'],
  { wanted, ids, readAt }: { wanted: Wanted; ids: number[]; readAt: Date },
): Promise<void> {
  await configured.updateMany(
    { ...filterOf(wanted), id: { $nin: ids }, storedAt: { $lt: readAt } },
    {
      $unset: { document: '', extIdHash: '', readAt: '' },
      $set: { expiresAt: new Date(Date.now() + TRACE_MS) },
    },
  )
}
