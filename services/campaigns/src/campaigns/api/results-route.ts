import { type Route, route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { RECIPIENT_STATES, type RecipientRecord, TO_COME } from '../../store/recipient-record.ts'
import { priceOf } from '../rules/budget.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignRoutesNeeded, campaignParameter, requireCampaign } from './campaign-access.ts'

const QUERY_MS = 20_000
const MAX_GROUPS = 1_000
const MAX_HOURS = 31 * 24
const SENT = ['sent', 'delivered', 'read'] as const

const count = z.number().int()
const counted = (what: string) => z.array(z.object({ [what]: z.string(), recipients: count }))

const results = z
  .object({
    audience: count.describe('Everybody listed so far'),
    toCome: count.describe('Not sent yet: they wait, or are under way'),
    leftOut: count,
    states: z.object(Object.fromEntries(RECIPIENT_STATES.map((state) => [state, count]))),
    leftOutBy: counted('reason'),
    failedBy: counted('code').describe('Of those that failed or are dead, by the code'),
    categories: z
      .array(z.object({ category: z.string(), billable: z.boolean(), recipients: count }))
      .describe('What the provider says that messages count as'),
    cost: z
      .object({ amount: z.number(), currency: z.string() })
      .nullable()
      .describe(
        'By the price of the budget, of what was sent and is not free, as what it counts as; null where there is none',
      ),
    replied: count.describe('Who wrote after their message'),
    optedOut: count.describe('Who opted out after their message'),
    hours: z
      .array(
        z.object({
          at: z.iso.datetime(),
          sent: count,
          delivered: count,
          read: count,
          failed: count,
          replied: count,
          optedOut: count,
        }),
      )
      .describe('By the hour in which they were written to; delivered are also those that were read'),
    difference: count.describe('Of the audience and all of these states: anything but 0 is an error'),
  })
  .meta({ id: 'CampaignResults' })

const none = Object.fromEntries(RECIPIENT_STATES.map((state) => [state, 0]))
const example = {
  ...{ audience: 3, toCome: 0, leftOut: 1, states: { ...none, delivered: 2, left_out: 1 } },
  leftOutBy: [{ reason: 'no_consent', recipients: 1 }],
  ...{ failedBy: [], categories: [{ category: 'marketing', billable: true, recipients: 2 }], cost: null },
  ...{ replied: 1, optedOut: 0, difference: 0 },
  hours: [
    { at: '2026-11-27T12:00:00.000Z', sent: 2, delivered: 2, read: 0, failed: 0, replied: 1, optedOut: 0 },
  ],
}

const readResults = route({
  method: 'GET',
  path: '/rest/campaigns/{id}/results',
  access: 'read',
  id: 'readCampaignResults',
  tag: 'campaigns',
  summary: 'What became of a campaign',
  description:
    'Everybody of the audience is in one state: left out, to come, or as their message is. States of messages are some seconds behind the log.',
  parameters: [campaignParameter],
  response: { schema: results, example },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
    const caller = callerOf(res)
    const found = await requireCampaign(needed, { caller, params: req.params, access: 'read' })
    const { recipients } = needed.campaigns.collections
    const counts = await needed.connection
      .getClient()
      .withSession({ snapshot: true }, (session) => countAll({ recipients, session }, found))
    const { audience, states, reasons, codes, categories, hours, replied, optedOut, cost } = counts
    const byState = {
      ...none,
      ...Object.fromEntries(states.map(({ _id, recipients: of }) => [String(_id), of])),
    } as Record<string, number>
    const sum = (names: readonly string[]) => names.reduce((all, name) => all + (byState[name] ?? 0), 0)
    res.set('cache-control', 'no-store').json({
      audience,
      toCome: sum(TO_COME),
      leftOut: sum(['left_out']),
      states: byState,
      leftOutBy: reasons.map(({ _id, recipients: of }) => ({ reason: String(_id), recipients: of })),
      failedBy: codes.map(({ _id, recipients: of }) => ({ code: String(_id), recipients: of })),
      categories: categories.map(({ _id, recipients: of }) => ({ ...(_id as object), recipients: of })),
      cost,
      replied,
      optedOut,
      hours,
      difference: audience - sum(RECIPIENT_STATES),
    })
  },
})

/** The recipients, in a session whose reads are of one snapshot. */
interface Counting {
  recipients: mongo.Collection<RecipientRecord>
  session: mongo.ClientSession
}

interface Group {
  _id: unknown
  recipients: number
}

/** Returns all counts of one moment, whoever is listed or written to meanwhile: the first of them settles which it is. */
async function countAll(counting: Counting, found: CampaignRecord) {
  const { _id: campaign } = found
  const audience = await countOf(counting, { campaign })
  const [states, reasons, codes, categories, hours, replied, optedOut, cost] = await Promise.all([
    group(counting, { campaign }, '$state'),
    group(counting, { campaign, state: 'left_out' }, '$reason'),
    group(
      counting,
      { campaign, state: { $in: ['failed', 'dead'] } },
      { $ifNull: ['$code', { $ifNull: ['$reason', 'unknown'] }] },
    ),
    group(
      counting,
      { campaign, category: { $exists: true } },
      { category: '$category', billable: { $eq: ['$billable', true] } },
    ),
    hoursOf(counting, campaign),
    countOf(counting, { campaign, repliedAt: { $exists: true } }),
    countOf(counting, { campaign, optedOutAt: { $exists: true } }),
    costOf(counting, found),
  ])
  return { audience, states, reasons, codes, categories, hours, replied, optedOut, cost }
}

const countOf = ({ recipients, session }: Counting, match: mongo.Filter<RecipientRecord>): Promise<number> =>
  recipients.countDocuments(match, { maxTimeMS: QUERY_MS, session })

function group(
  { recipients, session }: Counting,
  match: mongo.Filter<RecipientRecord>,
  _id: unknown,
): Promise<Group[]> {
  return recipients
    .aggregate<Group>(
      [
        { $match: match },
        { $group: { _id, recipients: { $sum: 1 } } },
        { $sort: { recipients: -1, _id: 1 } },
        { $limit: MAX_GROUPS },
      ],
      { maxTimeMS: QUERY_MS, session },
    )
    .toArray()
}

/** Returns the cost of the sent messages, each by the category the provider reports, else by its template's category. */
async function costOf(
  counting: Counting,
  { _id: campaign, definition, categories }: CampaignRecord,
): Promise<{ amount: number; currency: string } | null> {
  const { money } = definition.budget ?? {}
  if (money === undefined) return null
  const paid = { campaign, state: { $in: [...SENT] }, billable: { $ne: false } }
  const groups = await group(counting, paid, '$category')
  const amount = groups.reduce((sum, { _id, recipients: of }) => {
    const category = typeof _id === 'string' ? _id : categories?.at(-1)
    return sum + of * priceOf(money.perMessage, category)
  }, 0)
  return { amount: Math.round(amount * 1e6) / 1e6, currency: money.currency }
}

const when = (condition: object) => ({ $sum: { $cond: [condition, 1, 0] } })

async function hoursOf({ recipients, session }: Counting, campaign: string): Promise<object[]> {
  const found = await recipients
    .aggregate(
      [
        { $match: { campaign, claimedAt: { $exists: true } } },
        {
          $group: {
            _id: { $dateTrunc: { date: '$claimedAt', unit: 'hour' } },
            sent: when({ $in: ['$state', [...SENT]] }),
            delivered: when({ $in: ['$state', ['delivered', 'read']] }),
            read: when({ $eq: ['$state', 'read'] }),
            failed: when({ $in: ['$state', ['failed', 'dead']] }),
            replied: when({ $ne: [{ $type: '$repliedAt' }, 'missing'] }),
            optedOut: when({ $ne: [{ $type: '$optedOutAt' }, 'missing'] }),
          },
        },
        { $sort: { _id: 1 } },
        { $limit: MAX_HOURS },
      ],
      { maxTimeMS: QUERY_MS, session },
    )
    .toArray()
  return found.map(({ _id, ...counts }) => ({ at: _id, ...counts }))
}

export const resultsRoutes: readonly Route<CampaignRoutesNeeded>[] = [readResults]
