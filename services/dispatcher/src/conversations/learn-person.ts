import type { InternalClient } from '@parley/shared/internal-client'
import type { Log } from '@parley/shared/log'
import { type Address, addressText, type NamedPerson } from '@parley/shared/providers/address'
import { withTimeout } from '@parley/shared/with-timeout'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Suppressions } from '../consent/suppressions.ts'
import type { Collections } from '../store/collections.ts'
import { joinThreads } from './joined-threads.ts'

const QUERY_MS = 1_000
const LEARN_MS = 2_000
const MAX_LEARNT = 50_000
const place = z.object({ thread: z.string(), joined: z.array(z.string()) })

/** Notes that whom a send went to has further addresses. Within 2 s, and `timeoutMs`; never rejects. */
export type LearnPerson = (learnt: Learnt) => Promise<void>

interface Learnt {
  timeoutMs: number
  workspace: number
  channel: string
  sentTo: Address
  person: NamedPerson
}

/**
 * Tells the webhook service, which says whose thread is whose, what the response to a send says of a person. What fails
 * is said again by the response to the next send, and by the statuses of this one.
 */
export function createLearnPerson(options: {
  collections: Pick<Collections, 'messages' | 'threads'>
  webhook: Pick<InternalClient, 'post'>
  suppressions: Pick<Suppressions, 'spread'>
  retentionMs: number
  log: Log
}): LearnPerson {
  const { collections, webhook, suppressions, retentionMs, log } = options
  const learnt = new LRUCache<string, true>({ max: MAX_LEARNT })
  const learn = async ({ workspace, channel, sentTo, person }: Learnt) => {
    const addresses = [...new Set([sentTo, ...person.addresses].map(addressText))]
    const key = JSON.stringify([workspace, channel, ...addresses])
    if (learnt.has(key)) return
    await suppressions.spread([{ workspace, addresses }])
    const thread = sentTo.value
    const since = await firstIn(collections.messages, { workspace, thread })
    const named = { addresses, thread, since }
    const found = place.parse(await webhook.post(`/internal/workspaces/${workspace}/people`, named))
    const { thread: extId, joined } = found
    await joinThreads(collections, { workspace, channel, extId, joined }, retentionMs)
    learnt.set(key, true)
  }
  return async (one) => {
    try {
      await withTimeout(Math.min(LEARN_MS, one.timeoutMs), learn(one))
    } catch (error) {
      const reason = error instanceof Error ? error.message : 'unknown'
      log.warn({ workspace: one.workspace, reason }, "a person's further address not noted yet")
    }
  }
}

/** When a thread began that is called as whom it was sent to; now where there is none. */
async function firstIn(
  messages: Collections['messages'],
  of: { workspace: number; thread: string },
): Promise<Date> {
  const [first] = await messages
    .find(of, { projection: { receivedAt: 1 }, maxTimeMS: QUERY_MS })
    .sort({ receivedAt: 1, _id: 1 })
    .limit(1)
    .toArray()
  return first?.receivedAt ?? new Date()
}
