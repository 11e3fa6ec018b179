import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { DocumentReplica } from '../store/document-replica.ts'
import { type ConfiguredDocument, configuredDocument, documentsIn } from './configuration-document.ts'
import type { ConfiguredStore, Wanted } from './replica-store.ts'

const READ_AGAIN_MS = 60_000
const TRY_AGAIN_MS = 5_000
const MAX_REMEMBERED = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_WORKSPACES = 100_000
const BACKGROUND_READS = 4

const channelsAnswer = z.object({ data: z.array(configuredDocument) })

/** The documents of configuration that the dispatcher works with. */
export interface Configured {
  /**
   * What is wanted, secrets sealed; empty when there is none. What was read before `notBefore` (milliseconds since
   * the epoch) does not do as long as configuration answers. Rejects with `unavailable` when configuration is
   * away and no copy is held.
   */
  find(wanted: Wanted, options?: { notBefore?: number }): Promise<ConfiguredDocument[]>
  /** A document of this workspace has changed: the next {@link find} reads its copies again. */
  changed(workspace: number): void
}

interface Remembered {
  documents: ConfiguredDocument[]
  characters: number
  /** When the reading began, on the clock of `performance.now()`. */
  at: number
  /** When configuration was last asked, in milliseconds since the epoch; 0 for never. */
  readAt: number
  /** When that was last tried, on the clock of `performance.now()`. */
  triedAt: number
}

/**
 * Documents from memory, then from the dispatcher's own copies, and on a miss from configuration. Events keep
 * both fresh; one that was read over a minute ago is read again in the background. A copy serves while
 * configuration is away. What is not there is never remembered.
 */
export function createConfigured(options: {
  store: ConfiguredStore
  configuration: Pick<InternalClient, 'get'>
  log: Log
}): Configured {
  const { store, configuration, log } = options
  const remembered = new LRUCache<string, Remembered>({
    max: MAX_REMEMBERED,
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ characters }) => characters + 1,
  })
  const changedAt = new LRUCache<number, number>({ max: MAX_WORKSPACES })
  const lookups = new Map<string, Promise<Remembered>>()
  const rereads = new Set<string>()
  let away = false

  const ask = async (wanted: Wanted): Promise<Remembered> => {
    const at = performance.now()
    const readAt = new Date()
    const documents = documentsOf(wanted, await configuration.get(pathOf(wanted)))
    // Not waited for: what was answered is as good as the copy.
    store.keepAnswer(wanted, { documents, readAt }).catch((error: Error) => {
      log.warn({ workspace: wanted.workspace, reason: error.message }, 'copies not written')
    })
    return { documents, characters: charactersOf(documents), at, readAt: readAt.getTime(), triedAt: at }
  }
  const readAgain = (key: string, wanted: Wanted, found: Remembered) => {
    const now = performance.now()
    if (rereads.has(key) || rereads.size >= BACKGROUND_READS || now - found.triedAt < TRY_AGAIN_MS) return
    found.triedAt = now
    rereads.add(key)
    ask(wanted)
      .then((read) => remembered.set(key, read))
      .catch((error: Error) =>
        log.debug({ workspace: wanted.workspace, reason: error.message }, 'not read again'),
      )
      .finally(() => rereads.delete(key))
  }
  const lookUp = async (key: string, wanted: Wanted, notBefore: number): Promise<Remembered> => {
    const at = performance.now()
    const copies = await store.read(wanted).catch(() => undefined)
    const held = copies === undefined ? remembered.peek(key) : rememberedOf(copies, at)
    const isHeld = held !== undefined && held.documents.length > 0
    if (isHeld && held.readAt >= notBefore && (held.readAt > 0 || 'id' in wanted)) return held
    try {
      const answer = await ask(wanted)
      if (away) log.info('configuration is back')
      away = false
      return answer
    } catch (error) {
      if (!isHeld) throw error
      if (!away)
        log.warn({ reason: (error as Error).message }, 'configuration is away; going on with the copies')
      away = true
      return held
    }
  }
  const lookUpOnce = (key: string, wanted: Wanted, notBefore: number): Promise<Remembered> => {
    // Whoever needs a fresh one can't share with those who don't.
    const question = `${notBefore > 0 ? 'fresh' : 'any'} ${key}`
    const underWay = lookups.get(question)
    if (underWay !== undefined) return underWay
    const lookup = lookUp(key, wanted, notBefore)
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
    async find(wanted, { notBefore = 0 } = {}) {
      const key = keyOf(wanted)
      const known = remembered.get(key)
      const isFresh = known !== undefined && known.at > (changedAt.get(wanted.workspace) ?? 0)
      const found = isFresh && known.readAt >= notBefore ? known : await lookUpOnce(key, wanted, notBefore)
      if (found.readAt < Date.now() - READ_AGAIN_MS && found.documents.length > 0)
        readAgain(key, wanted, found)
      return found.documents
    },
    changed: (workspace) => void changedAt.set(workspace, performance.now()),
  }
}

function keyOf(wanted: Wanted): string {
  return 'id' in wanted
    ? `${wanted.resource}/${wanted.workspace}/${wanted.id}`
    : `extId/${wanted.workspace}/${wanted.extId}`
}

function pathOf(wanted: Wanted): string {
  const path = `/internal/workspaces/${wanted.workspace}/${wanted.resource}`
  return 'id' in wanted ? `${path}/${wanted.id}` : `${path}?extId=${encodeURIComponent(wanted.extId)}`
}

function documentsOf(wanted: Wanted, answer: unknown): ConfiguredDocument[] {
  if ('extId' in wanted) return channelsAnswer.parse(answer).data
  return answer === undefined ? [] : [configuredDocument.parse(answer)]
}

function rememberedOf(copies: DocumentReplica[], at: number): Remembered {
  return {
    documents: documentsIn(copies),
    characters: copies.reduce((sum, { document }) => sum + (document?.length ?? 0), 0),
    at,
    readAt: Math.min(...copies.map(({ readAt }) => readAt?.getTime() ?? 0)),
    triedAt: 0,
  }
}

function charactersOf(documents: ConfiguredDocument[]): number {
  return documents.reduce((sum, document) => sum + JSON.stringify(document).length, 0)
}
