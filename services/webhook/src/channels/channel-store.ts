import { keepNewest } from '@parley/shared/keep-newest'
import { type SecretBox, sealSecrets } from '@parley/shared/sealed-value'
import type { ChannelCopy, Collections } from '../database.ts'
import { within } from '../within.ts'
import { copyId, hashOf, type VersionedChannel } from './channel-copy.ts'

const TRACE_MS = 30 * 24 * 60 * 60 * 1_000
const READ_MS = 500
const MAX_COPIES = 200

/** One version of a channel; `document` is null once it is deleted. */
export interface ChannelVersion {
  workspace: number
  _id: number
  version: number
  document: object | null
}

/** The copies in the service's database. A version older than the one held is ignored. */
export interface ChannelStore {
  /** Copies of channels with this external id, 200 at most. Rejects after half a second. */
  byExtId(workspace: number, extId: string): Promise<ChannelCopy[]>
  /** Keeps what an event says. */
  keep(change: ChannelVersion): Promise<void>
  /** Keeps what configuration answered, asked at `readAt`, for all channels of an external id. */
  keepAll(lookup: {
    workspace: number
    extId: string
    channels: VersionedChannel[]
    readAt: Date
  }): Promise<void>
}

/** Secrets are kept sealed, however they came. */
export function createChannelStore(
  channels: Collections['channels'],
  box: Pick<SecretBox, 'seal'>,
): ChannelStore {
  const sealed = (change: ChannelVersion): ChannelVersion => ({
    ...change,
    document: sealSecrets(change.document, box, change.workspace),
  })
  return {
    byExtId: (workspace, extId) => {
      const found = channels.find({ workspace, extIdHash: hashOf(extId) }, { maxTimeMS: READ_MS })
      return within(READ_MS, found.limit(MAX_COPIES).toArray())
    },
    keep: (change) => write(channels, sealed(change), undefined),
    keepAll: async ({ workspace, extId, channels: read, readAt }) => {
      for (const { version, ...document } of read) {
        await write(channels, sealed({ workspace, _id: document._id, version, document }), readAt)
      }
      await forgetOthers(channels, { workspace, extId, ids: read.map(({ _id }) => _id), readAt })
    },
  }
}

/**
 * A lookup also writes the version that is held: it says again what that version is, and when it was read. An
 * event leaves the time of reading alone, as long as the external id is the same.
 */
async function write(
  channels: Collections['channels'],
  { workspace, _id: id, version, document }: ChannelVersion,
  readAt: Date | undefined,
): Promise<void> {
  const _id = copyId(workspace, id)
  const extIdHash = extIdHashOf(document)
  const content =
    document === null
      ? { expiresAt: new Date(Date.now() + TRACE_MS) }
      : { extIdHash, document: { $literal: JSON.stringify(document) } }
  const kept = { $cond: [{ $eq: ['$extIdHash', extIdHash ?? null] }, '$readAt', '$$REMOVE'] }
  const copy = { _id, workspace, id, version, storedAt: new Date(), ...content, readAt: readAt ?? kept }
  await keepNewest(channels, copy, { orSame: readAt !== undefined })
}

function extIdHashOf(document: object | null): string | undefined {
  const { extId } = (document ?? {}) as { extId?: unknown }
  return typeof extId === 'string' ? hashOf(extId) : undefined
}

/** What was held before the lookup and is not in its answer was deleted, or has another external id by now. */
async function forgetOthers(
  channels: Collections['channels'],
  { workspace, extId, ids, readAt }: { workspace: number; extId: string; ids: number[]; readAt: Date },
): Promise<void> {
  await channels.updateMany(
    { workspace, extIdHash: hashOf(extId), id: { $nin: ids }, storedAt: { $lt: readAt } },
    {
      $unset: { document: '', extIdHash: '', readAt: '' },
      $set: { expiresAt: new Date(Date.now() + TRACE_MS) },
    },
  )
}
