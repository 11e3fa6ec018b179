import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { InternalClient } from '../internal-client.ts'
import type { Log } from '../log.ts'
import { parseJson } from '../parse-json.ts'
import { Problem } from '../problem.ts'
import { providerNamed } from '../providers/registry.ts'
import {
  type ConfigurationDocument,
  configurationDocument,
  type DocumentReplica,
  isOwnerEntry,
  type ReplicaQuery,
  type ReplicaStore,
} from './replica-store.ts'

const READ_AGAIN_MS = 60_000
const TRY_AGAIN_MS = 5_000
const MAX_REMEMBERED = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_WORKSPACES = 100_000
const MAX_MISSES = 1_000
const MAX_LOOKUPS = 1_000
const BACKGROUND_READS = 4

/** The documents of configuration that a service works with. */
export interface Replica {
  /**
   * The documents, secrets sealed. Empty when there are none: configuration said so, asked no longer than `missesFreshMs`
   * before this call. The configs of an owner come lowest id first. What was read before `notBefore` (milliseconds since the
   * epoch) does not do as long as configuration answers. Rejects with `unavailable` when configuration is unavailable and
   * there is no replica, or when 1,000 look-ups are under way.
   */
  find(query: ReplicaQuery, options?: { notBefore?: number }): Promise<ConfigurationDocument[]>
  /**
   * The documents in memory, without waiting; empty when it is known that there is none. What memory does not have, or has
   * only known for a while to be missing, is undefined, and looked up for the next time.
   */
  known(query: ReplicaQuery): ConfigurationDocument[] | undefined
  /** A document of this workspace has changed: the next {@link find} reads its replicas again. */
  changed(workspace: number): void
}

interface Remembered {
  documents: ConfigurationDocument[]
  characters: number
  /** When the reading began, on the clock of `performance.now()`. */
  at: number
  /** When configuration was last asked, in milliseconds since the epoch; 0 for never. */
  readAt: number
  /** When that was last tried, on the clock of `performance.now()`. */
  triedAt: number
  /** Reads from before this do not do, for as long as configuration answered. */
  notBefore: number
  /** There are such documents, or it is known that there are none. */
  isKnown: boolean
}

/**
 * Documents from memory, then from the service's own replicas, and on a miss from configuration. Events keep both
 * fresh; one that was read over a minute ago is read again in the background. A replica serves while configuration
 * is unavailable. `freshMs` bounds how long memory is trusted without an event, `missesFreshMs` how long it is trusted
 * that there is no such document; 0 for not at all. What is asked for and is not there, 1,000 at most, is remembered apart
 * from what is, so that it takes none of its room.
 */
export function createReplica(options: {
  store: ReplicaStore
  configuration: Pick<InternalClient, 'get'>
  freshMs: number
  missesFreshMs: number
  log: Log
}): Replica {
  const { store, configuration, freshMs, missesFreshMs, log } = options
  const changedAt = new LRUCache<number, number>({ max: MAX_WORKSPACES })
  const rereads = new Set<string>()
  let lookups = 0
  let unavailable = false
  const remembered = new LRUCache<string, Remembered>({
    max: MAX_REMEMBERED,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ characters }) => characters + 1,
  })
  /** The look-ups under way, one of each key, and what they did not find. */
  const misses = new LRUCache<string, Remembered, { query: ReplicaQuery; notBefore: number }>({
    maxSize: MAX_MISSES,
    maxEntrySize: 1,
    sizeCalculation: ({ isKnown }) => (isKnown ? 2 : 1),
    // A look-up whose place another entry takes still answers those who wait for it.
    ignoreFetchAbort: true,
    noDeleteOnFetchRejection: true,
    fetchMethod: async (key, _last, { context: { query, notBefore } }) => {
      if (lookups >= MAX_LOOKUPS) throw new Problem('unavailable', { detail: 'Too many look-ups.' })
      lookups++
      try {
        const found = await lookUp(query, notBefore, lastOf(key))
        if (found.isKnown) remembered.set(key, found)
        else remembered.delete(key)
        return found
      } finally {
        lookups--
      }
    },
  })
  const lastOf = (key: string) => remembered.get(key) ?? misses.get(key, { allowStale: true })

  const ask = async (
    query: ReplicaQuery,
    { notBefore = 0, isStored }: { notBefore?: number; isStored: boolean },
  ): Promise<Remembered> => {
    const at = performance.now()
    const readAt = new Date()
    const documents = documentsOf(query, await configuration.get(pathOf(query)))
    const characters = documents.reduce((sum, document) => sum + JSON.stringify(document).length, 0)
    const isKnown = documents.length > 0 || 'owner' in query
    // Not waited for: what was answered is as good as the replica. Where there is nothing in either, nothing is to be written.
    if (isKnown || isStored)
      store.saveResponse(query, { documents, readAt }).catch((error: Error) => {
        log.warn({ workspace: query.workspace, reason: error.message }, 'replicas not written')
      })
    return { documents, characters, at, readAt: readAt.getTime(), triedAt: at, notBefore, isKnown }
  }
  const lookUp = async (query: ReplicaQuery, notBefore: number, last: Remembered | undefined) => {
    const at = performance.now()
    const replicas = await store.read(query).catch(() => undefined)
    const stored =
      replicas === undefined
        ? last && { ...last, notBefore, at: last.at > (changedAt.get(query.workspace) ?? 0) ? at : last.at }
        : rememberedOf(query, replicas, { at, triedAt: last?.triedAt ?? 0, notBefore })
    const isStored = stored?.isKnown === true
    if (isStored && stored.readAt >= notBefore && (stored.readAt > 0 || 'id' in query)) return stored
    try {
      const response = await ask(query, { notBefore, isStored: replicas?.length !== 0 })
      if (unavailable) log.info('configuration is back')
      unavailable = false
      return response
    } catch (error) {
      if (!isStored) throw error
      if (!unavailable)
        log.warn({ reason: (error as Error).message }, 'configuration is unavailable; going on with replicas')
      unavailable = true
      return stored
    }
  }
  const isFresh = ({ at, isKnown }: Remembered, { workspace }: ReplicaQuery) => {
    const forMs = isKnown ? freshMs : missesFreshMs
    return at > Math.max(changedAt.get(workspace) ?? 0, performance.now() - forMs)
  }
  /**
   * Shares the look-up under way, unless that one may have taken what was read before `notBefore`, or found nothing where
   * there is something by now.
   */
  const lookUpOnce = async (key: string, query: ReplicaQuery, notBefore: number) => {
    const context = { query, notBefore }
    const calledAt = performance.now()
    const shared = await misses.forceFetch(key, { context, forceRefresh: true })
    const isCurrent = shared.isKnown || shared.at >= calledAt - missesFreshMs
    if (isCurrent && (shared.readAt >= notBefore || shared.notBefore >= notBefore)) return shared
    return misses.forceFetch(key, { context, forceRefresh: true })
  }
  const readAgain = (key: string, query: ReplicaQuery, found: Remembered) => {
    const now = performance.now()
    if (rereads.has(key) || rereads.size >= BACKGROUND_READS || now - found.triedAt < TRY_AGAIN_MS) return
    found.triedAt = now
    rereads.add(key)
    ask(query, { isStored: true })
      .then((read) => {
        if (read.isKnown) remembered.set(key, read)
        else remembered.delete(key)
      })
      .catch((error: Error) =>
        log.debug({ workspace: query.workspace, reason: error.message }, 'not read again'),
      )
      .finally(() => rereads.delete(key))
  }
  const find: Replica['find'] = async (query, { notBefore = 0 } = {}) => {
    const key = keyOf(query)
    const before = lastOf(key)
    const suffices = before !== undefined && isFresh(before, query) && before.readAt >= notBefore
    const found = suffices ? before : await lookUpOnce(key, query, notBefore)
    if (found.readAt < Date.now() - READ_AGAIN_MS && found.isKnown) readAgain(key, query, found)
    return found.documents
  }
  return {
    find,
    known(query) {
      const before = lastOf(keyOf(query))
      const isDue = before === undefined || !isFresh(before, query)
      if (isDue && lookups < BACKGROUND_READS) void find(query).catch(() => undefined)
      return isDue && before?.documents.length === 0 ? undefined : before?.documents
    },
    changed: (workspace) => void changedAt.set(workspace, performance.now()),
  }
}

function keyOf(query: ReplicaQuery): string {
  if ('id' in query) return `${query.resource}/${query.workspace}/${query.id}`
  if ('owner' in query) return `owner/${query.workspace}/${query.owner}/${query.ownerType}`
  if ('receiver' in query) return `receiver/${query.workspace}/${query.provider}/${query.receiver}`
  return `extId/${query.workspace}/${query.extId}`
}

function pathOf(query: ReplicaQuery): string {
  const path = `/internal/workspaces/${query.workspace}/${query.resource}`
  if ('id' in query) return `${path}/${query.id}`
  if ('owner' in query) return `${path}?owner=${query.owner}&ownerType=${encodeURIComponent(query.ownerType)}`
  if ('receiver' in query)
    return `${path}?provider=${encodeURIComponent(query.provider)}&receiver=${encodeURIComponent(query.receiver)}`
  return `${path}?extId=${encodeURIComponent(query.extId)}`
}

const listResponse = z.object({ data: z.array(configurationDocument) })

function documentsOf(query: ReplicaQuery, response: unknown): ConfigurationDocument[] {
  if (!('id' in query)) return listResponse.parse(response).data
  return response === undefined ? [] : [configurationDocument.parse(response)]
}

/** The configs of an owner are complete once there is the entry that says so; events have replaced them since. */
function rememberedOf(
  query: ReplicaQuery,
  replicas: DocumentReplica[],
  read: Pick<Remembered, 'at' | 'triedAt' | 'notBefore'>,
): Remembered {
  const complete = 'owner' in query ? replicas.filter(isOwnerEntry) : replicas
  const documents = replicas.flatMap(({ document, version }) =>
    document === undefined ? [] : { ...(parseJson(document) as ConfigurationDocument), version },
  )
  if ('owner' in query) documents.sort((one, other) => one._id - other._id)
  return {
    ...read,
    documents,
    characters: replicas.reduce((sum, { document }) => sum + (document?.length ?? 0), 0),
    readAt: Math.min(...complete.map((one) => readAtOf(query, one)?.getTime() ?? 0)),
    isKnown: 'owner' in query ? complete.length > 0 : documents.length > 0,
  }
}

const readAtOf = (query: ReplicaQuery, { readAt, receiverReadAt }: DocumentReplica): Date | undefined =>
  'receiver' in query ? receiverReadAt : readAt

/** Of a workspace's channels the one for messages of `extId`: the first of {@link byRank}. */
export function channelFor(
  documents: readonly ConfigurationDocument[],
  extId: string,
  provider?: string,
): ConfigurationDocument | undefined {
  return byRank(
    documents.filter((channel) => channel.extId === extId),
    provider,
  )[0]
}

/** Channels whose hook is the given provider come first, then those to which any provider sends, then the lowest id. */
export function byRank(
  documents: readonly ConfigurationDocument[],
  provider?: string,
): ConfigurationDocument[] {
  const rank = ({ hook }: ConfigurationDocument) => {
    if (hook === provider) return 0
    return providerNamed(hook)?.inbound === undefined ? 2 : 1
  }
  return documents.toSorted((one, other) => rank(one) - rank(other) || one._id - other._id)
}
