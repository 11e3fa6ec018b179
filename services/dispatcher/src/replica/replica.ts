import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { DocumentReplica } from '../store/document-replica.ts'
import { type ConfigurationDocument, configurationDocument, documentsIn } from './configuration-document.ts'
import type { ReplicaQuery, ReplicaStore } from './replica-store.ts'

const READ_AGAIN_MS = 60_000
const TRY_AGAIN_MS = 5_000
const MAX_REMEMBERED = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_WORKSPACES = 100_000
const BACKGROUND_READS = 4

const channelsAnswer = z.object({ data: z.array(configurationDocument) })

/** The documents of configuration that the dispatcher works with. */
export interface Replica {
  /**
   * What is wanted, secrets sealed; empty when there is none. What was read before `notBefore` (milliseconds since
   * the epoch) does not do as long as configuration answers. Rejects with `unavailable` when configuration is
   * unavailable and there is no replica.
   */
  find(query: ReplicaQuery, options?: { notBefore?: number }): Promise<ConfigurationDocument[]>
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
}

/**
 * Documents from memory, then from the dispatcher's own replicas, and on a miss from configuration. Events keep
 * both fresh; one that was read over a minute ago is read again in the background. A replica serves while
 * configuration is unavailable. What is not there is never remembered.
 */
export function createReplica(options: {
  store: ReplicaStore
  configuration: Pick<InternalClient, 'get'>
  log: Log
}): Replica {
  const { store, configuration, log } = options
  const remembered = new LRUCache<string, Remembered>({
    max: MAX_REMEMBERED,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ characters }) => characters + 1,
  })
  const changedAt = new LRUCache<number, number>({ max: MAX_WORKSPACES })
  const lookups = new Map<string, Promise<Remembered>>()
  const rereads = new Set<string>()
  let unavailable = false

  const ask = async (query: ReplicaQuery): Promise<Remembered> => {
    const at = performance.now()
    const readAt = new Date()
    const documents = documentsOf(query, await configuration.get(pathOf(query)))
    // Not waited for: what was answered is as good as the replica.
    store.saveAnswer(query, { documents, readAt }).catch((error: Error) => {
      log.warn({ workspace: query.workspace, reason: error.message }, 'copies not written')
    })
    return { documents, characters: charactersOf(documents), at, readAt: readAt.getTime(), triedAt: at }
  }
  const readAgain = (key: string, query: ReplicaQuery, found: Remembered) => {
    const now = performance.now()
    if (rereads.has(key) || rereads.size >= BACKGROUND_READS || now - found.triedAt < TRY_AGAIN_MS) return
    found.triedAt = now
    rereads.add(key)
    ask(query)
      .then((read) => remembered.set(key, read))
      .catch((error: Error) =>
        log.debug({ workspace: query.workspace, reason: error.message }, 'not read again'),
      )
      .finally(() => rereads.delete(key))
  }
  const lookUp = async (key: string, query: ReplicaQuery, notBefore: number): Promise<Remembered> => {
    const at = performance.now()
    const replicas = await store.read(query).catch(() => undefined)
    const stored = replicas === undefined ? remembered.peek(key) : rememberedOf(replicas, at)
    const isStored = stored !== undefined && stored.documents.length > 0
    if (isStored && stored.readAt >= notBefore && (stored.readAt > 0 || 'id' in query)) return stored
    try {
      const answer = await ask(query)
      if (unavailable) log.info('configuration is back')
      unavailable = false
      return answer
    } catch (error) {
      if (!isStored) throw error
      if (!unavailable)
        log.warn({ reason: (error as Error).message }, 'configuration is away; going on with the copies')
      unavailable = true
      return stored
    }
  }
  const lookUpOnce = (key: string, query: ReplicaQuery, notBefore: number): Promise<Remembered> => {
    // Whoever needs a fresh one can't share with those who don't.
    const question = `${notBefore > 0 ? 'fresh' : 'any'} ${key}`
    const underWay = lookups.get(question)
    if (underWay !== undefined) return underWay
    const lookup = lookUp(key, query, notBefore)
      .then((found) => {
        if (found.documents.length > 0) remembered.set(key, found)
        else remembered.delete(key)
        return found
      })
      .finally(() => lookups.delete(question))
    lookups.set(question, lookup)
    return lookup
  }
  return {
    async find(query, { notBefore = 0 } = {}) {
      const key = keyOf(query)
      const known = remembered.get(key)
      const isFresh = known !== undefined && known.at > (changedAt.get(query.workspace) ?? 0)
      const found = isFresh && known.readAt >= notBefore ? known : await lookUpOnce(key, query, notBefore)
      if (found.readAt < Date.now() - READ_AGAIN_MS && found.documents.length > 0)
        readAgain(key, query, found)
      return found.documents
    },
    changed: (workspace) => void changedAt.set(workspace, performance.now()),
  }
}

function keyOf(query: ReplicaQuery): string {
  return 'id' in query
    ? `${query.resource}/${query.workspace}/${query.id}`
    : `extId/${query.workspace}/${query.extId}`
}

function pathOf(query: ReplicaQuery): string {
  const path = `/internal/workspaces/${query.workspace}/${query.resource}`
  return 'id' in query ? `${path}/${query.id}` : `${path}?extId=${encodeURIComponent(query.extId)}`
}

function documentsOf(query: ReplicaQuery, answer: unknown): ConfigurationDocument[] {
  if ('extId' in query) return channelsAnswer.parse(answer).data
  return answer === undefined ? [] : [configurationDocument.parse(answer)]
}

function rememberedOf(replicas: DocumentReplica[], at: number): Remembered {
  return {
    documents: documentsIn(replicas),
    characters: replicas.reduce((sum, { document }) => sum + (document?.length ?? 0), 0),
    at,
    readAt: Math.min(...replicas.map(({ readAt }) => readAt?.getTime() ?? 0)),
    triedAt: 0,
  }
}

function charactersOf(documents: ConfigurationDocument[]): number {
  return documents.reduce((sum, document) => sum + JSON.stringify(document).length, 0)
}
