import type { Authorizer } from '@parley/shared/authorizer'
import { readQuery } from '@parley/shared/list-query'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { hourOf } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { balances, total } from './balance.ts'
import { countMessages } from './count.ts'
import { reconciliationDifference } from './reconciliation-difference.ts'

const time = z.iso.datetime({ offset: true }).transform((text) => hourOf(new Date(text)))

/** What is counted. */
export const reconciliationQuery = z.object({
  channel: z.string().max(1_024).optional(),
  from: time.optional(),
  to: time.optional(),
})

/**
 * GET /rest/messages/conservation: what the caller's workspace has accepted against what became of it, in all, per
 * channel and per hour (UTC). `from` (included) and `to` (not included) are taken down to the hour.
 */
export function reconciliationRoutes(options: {
  collections: Collections
  startSession(options: mongo.ClientSessionOptions): mongo.ClientSession
  authorizer: Authorizer
}): Router {
  const { collections, startSession, authorizer } = options
  const router = Router({ caseSensitive: true })
  router
    .route('/conservation')
    .get(async (req, res) => {
      const caller = callerOf(res)
      const decision = await authorizer.require(caller, 'messages', 'read')
      // A count of some of them would not come out even.
      if (decision.kind !== 'all')
        throw new Problem('forbidden', { detail: 'Counting takes a role that reads all messages.' })
      const counted = { workspace: caller.workspace._id, ...readQuery(reconciliationQuery, req) }
      const session = startSession({ snapshot: true })
      try {
        const shared = { counted, session, now: Date.now() }
        const hours = balances(await countMessages(collections, { ...shared, by: 'hour' }))
        const channels = balances(await countMessages(collections, { ...shared, by: 'channel' }))
        const audited = await reconciliationDifference(collections)
        res.json({
          ...total(hours),
          auditedUpTo: audited?.auditedUpTo ?? null,
          checkedSecondsAgo: audited?.ageSeconds ?? null,
          channels: channels.map(({ key, ...row }) => ({ channel: key, ...row })),
          hours: hours.map(({ key, ...row }) => ({ hour: new Date(key), ...row })),
        })
      } finally {
        await session.endSession()
      }
    })
    .all(methodNotAllowed('GET'))
  return router
}
