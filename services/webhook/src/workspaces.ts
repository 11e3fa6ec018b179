import type { InternalClient } from '@parley/shared/internal-client'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Collections } from './database.ts'
import { within } from './within.ts'

export interface Workspaces {
  /**
   * The id of the workspace with this slug, undefined when there is none. Identity is asked once. Rejects with
   * `unavailable` when it is away and the slug was never asked for.
   */
  find(slug: string): Promise<number | undefined>
}

const MAX_KNOWN = 10_000
const UNKNOWN_MS = 2_000
const READ_MS = 500
const SLUG = /^[a-z0-9-]{1,63}$/
const answerSchema = z.object({ _id: z.number() })

/** Workspaces by slug: from memory, the service's database, or identity. */
export function createWorkspaces(options: {
  identity: Pick<InternalClient, 'get'>
  known: Collections['workspaces']
}): Workspaces {
  const { identity, known } = options
  const cache = new LRUCache<string, { workspace: number | undefined }>({ max: MAX_KNOWN })
  const ask = async (slug: string) => {
    const answer = await identity.get(`/internal/workspaces/by-slug/${slug}`)
    if (answer === undefined) return undefined
    const workspace = answerSchema.parse(answer)._id
    // Not waited for: it only spares the next start a question.
    known.updateOne({ _id: slug }, { $set: { workspace } }, { upsert: true }).catch(() => undefined)
    return workspace
  }
  const lookups = new Map<string, Promise<number | undefined>>()
  const lookUp = async (slug: string) => {
    const kept = await within(READ_MS, known.findOne({ _id: slug })).catch(() => null)
    const workspace = kept?.workspace ?? (await ask(slug))
    cache.set(slug, { workspace }, workspace === undefined ? { ttl: UNKNOWN_MS } : {})
    return workspace
  }
  return {
    async find(slug) {
      if (!SLUG.test(slug)) return undefined
      const cached = cache.get(slug)
      if (cached !== undefined) return cached.workspace
      // Those who ask at the same time share one look-up: anybody may ask, for any slug.
      const lookup = lookups.get(slug) ?? lookUp(slug).finally(() => lookups.delete(slug))
      lookups.set(slug, lookup)
      return lookup
    },
  }
}
