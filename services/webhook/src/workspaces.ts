import type { InternalClient } from '@parley/shared/internal-client'
import { Problem } from '@parley/shared/problem'
import { withTimeout } from '@parley/shared/with-timeout'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Collections } from './database.ts'

export interface Workspaces {
  /**
   * The id of the workspace with this slug, undefined when there is none. Identity is asked once. Rejects with
   * `unavailable` when it is unavailable and the slug was never asked for, or when 512 look-ups are under way.
   */
  find(slug: string): Promise<number | undefined>
}

const MAX_KNOWN = 10_000
const MAX_LOOKED_UP = 1_000
// As many as the gateway sends an instance requests at once: after a start, nothing is known yet.
const MAX_LOOKUPS = 512
const UNKNOWN_MS = 2_000
const READ_MS = 500
const SLUG = /^[a-z0-9-]{1,63}$/
const workspaceFields = z.object({ _id: z.number() })

/** Workspaces by slug: from memory, the service's database, or identity. */
export function createWorkspaces(options: {
  identity: Pick<InternalClient, 'get'>
  known: Collections['workspaces']
}): Workspaces {
  const { identity, known } = options
  const ask = async (slug: string) => {
    const found = await identity.get(`/internal/workspaces/by-slug/${slug}`)
    if (found === undefined) return undefined
    const workspace = workspaceFields.parse(found)._id
    // Not waited for: it only spares the next start a question.
    known.updateOne({ _id: slug }, { $set: { workspace } }, { upsert: true }).catch(() => undefined)
    return workspace
  }
  const remembered = new LRUCache<string, number>({ max: MAX_KNOWN })
  let lookUps = 0
  const lookUp = async (slug: string) => {
    if (lookUps >= MAX_LOOKUPS) throw new Problem('unavailable', { detail: 'Too many look-ups.' })
    lookUps++
    try {
      const stored = await withTimeout(READ_MS, known.findOne({ _id: slug })).catch(() => null)
      const workspace = stored?.workspace ?? (await ask(slug))
      if (workspace !== undefined) remembered.set(slug, workspace)
      return { workspace }
    } finally {
      lookUps--
    }
  }
  // Apart from what is known, whose room they would take: anybody may ask, for any slug. Those who ask at the same time
  // share one look-up.
  const lookedUp = new LRUCache<string, { workspace: number | undefined }>({
    max: MAX_LOOKED_UP,
    ttl: UNKNOWN_MS,
    ignoreFetchAbort: true,
    fetchMethod: lookUp,
  })
  return {
    find: async (slug) =>
      SLUG.test(slug) ? (remembered.get(slug) ?? (await lookedUp.forceFetch(slug)).workspace) : undefined,
  }
}
