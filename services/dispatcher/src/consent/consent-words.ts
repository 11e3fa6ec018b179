import type { Replica } from '@parley/shared/config-replica/replica'
import { CONSENT_CONFIG } from '@parley/shared/consent'
import { withTimeout } from '@parley/shared/with-timeout'
import { LRUCache } from 'lru-cache'
import { type ConsentWords, wordsOf } from './words.ts'

const MAX_WORKSPACES = 1_000
const LOOK_UP_MS = 500
const PAUSE_MS = 5_000

/** The words of a workspace. Within half a second; never rejects. */
export type WordsOfWorkspace = (workspace: number) => Promise<ConsentWords>

/**
 * Reads the words that a workspace has in its config `consent`, from memory as a rule. While neither configuration nor a
 * replica can be read, it is the words of before, or else our own.
 */
export function createWordsOfWorkspace({ replica }: { replica: Pick<Replica, 'find'> }): WordsOfWorkspace {
  const read = new LRUCache<number, { value: unknown; words: ConsentWords }>({ max: MAX_WORKSPACES })
  const ours = wordsOf(undefined)
  let pausedUntil = 0
  return async (workspace) => {
    const before = read.get(workspace)
    if (performance.now() < pausedUntil) return before?.words ?? ours
    try {
      const owned = { resource: 'configs', workspace, owner: workspace, ownerType: 'workspace' } as const
      const configs = await withTimeout(LOOK_UP_MS, replica.find(owned))
      const value = configs.find(({ name }) => name === CONSENT_CONFIG)?.value
      if (value === undefined) return ours
      if (before !== undefined && before.value === value) return before.words
      const words = wordsOf(value)
      read.set(workspace, { value, words })
      return words
    } catch {
      pausedUntil = performance.now() + PAUSE_MS
      return before?.words ?? ours
    }
  }
}
