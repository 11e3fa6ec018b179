import type { Authorizer } from '@parley/shared/authorizer'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { hourOf } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { reconciliationDifference } from './audit-state.ts'
import { balances, countMessages, total } from './count.ts'

const time = z.iso.datetime({ offset: true }).transform((text) => hourOf(new Date(text)))

const count = z.number().int()
const balance = {
  accepted: count,
  done: count,
  sent: count,
  delivered: count,
  read: count,
  failed: count,
  dead: count,
  unrouted: count,
  rejected: count,
  inFlight: count,
  difference: count.describe('Accepted less all others; anything but 0 is a fault'),
  unaudited: count.describe('Stored, but not seen in the log yet'),
}
const none = Object.fromEntries(Object.keys(balance).map((name) => [name, 0]))
const example = { ...none, accepted: 3, sent: 3 }

export interface Reconciled {
  collections: Collections
  startSession(options: mongo.ClientSessionOptions): mongo.ClientSession
  authorizer: Authorizer
}

/** The accepted messages of the caller's workspace against their outcomes, per hour in UTC. */
export const readReconciliation = route({
  method: 'GET',
  path: '/rest/messages/conservation',
  access: 'read',
  id: 'readConservation',
  tag: 'messages',
  summary: 'What was accepted against what became of it',
  description: 'Counted by id: in all, for each channel and for each hour.',
  query: z.object({
    channel: z.string().max(1_024).optional().describe('Only what names this external id'),
    from: time.optional().describe('From this hour on'),
    to: time.optional().describe('Until before this hour'),
  }),
  response: {
    schema: z
      .object({
        ...balance,
        auditedUpTo: z.iso.datetime().nullable(),
        checkedSecondsAgo: z.number().nullable(),
        channels: z.array(z.object({ channel: z.string(), ...balance })),
        hours: z.array(z.object({ hour: z.iso.datetime(), ...balance })),
      })
      .meta({ id: 'Conservation' }),
    example: {
      ...example,
      auditedUpTo: '2026-11-20T11:36:37.316Z',
      checkedSecondsAgo: 1,
      channels: [{ channel: 'support-line', ...example }],
      hours: [{ hour: '2026-11-20T11:00:00.000Z', ...example }],
    },
  },
  handle:
    ({ collections, startSession, authorizer }: Reconciled) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const decision = await authorizer.require(caller, 'messages', 'read')
      // A count of some of them would not come out even.
      if (decision.kind !== 'all')
        throw new Problem('forbidden', { detail: 'Counting takes a role that reads all messages.' })
      const counted = { workspace: caller.workspace._id, ...asked.query() }
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
    },
})
