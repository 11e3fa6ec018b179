import { createRateBucket, inFlightLimit, type RateBucket } from '../rules/allowance.ts'
import { budgetMessages } from '../rules/budget.ts'
import type { CampaignRecord, CampaignWait } from '../store/campaign-record.ts'
import type { CampaignFacts } from './campaign-facts.ts'
import type { CampaignServices } from './campaign-parts.ts'
import { reservePeople } from './people-limit.ts'
import { MAX_BATCH } from './send-batch.ts'

const COUNT_MS = 5_000

/** The rate limiter of a campaign: its bucket, renewed for each rate. */
export interface SendRate {
  bucket: RateBucket | undefined
  perSecond: number
}

/** How many may be sent now, or what is waited for. */
export async function allowance(
  { collections }: CampaignServices,
  { _id: campaign, definition, categories = [] }: CampaignRecord,
  rate: SendRate,
  { perSecond }: CampaignFacts,
): Promise<{ count: number; wait?: CampaignWait }> {
  if (rate.bucket === undefined || rate.perSecond !== perSecond) {
    rate.bucket = createRateBucket(perSecond, performance.now())
    rate.perSecond = perSecond
  }
  const limit = inFlightLimit(perSecond)
  const inFlight = await collections.recipients.countDocuments(
    { campaign, state: { $in: ['claimed', 'posted'] } },
    { limit, maxTimeMS: COUNT_MS },
  )
  if (inFlight >= limit) return { count: 0, wait: { for: 'in_flight' } }
  const most = budgetMessages(definition.budget, categories)
  const left = most === undefined ? MAX_BATCH : most - (await usedOf({ collections }, campaign, most))
  if (left <= 0) return { count: 0, wait: { for: 'budget' } }
  return { count: Math.min(rate.bucket.available(performance.now()), limit - inFlight, left, MAX_BATCH) }
}

/** How many messages count against the budget: what is dead cost nothing. */
function usedOf(
  { collections }: Pick<CampaignServices, 'collections'>,
  campaign: string,
  most: number,
): Promise<number> {
  return collections.recipients.countDocuments(
    { campaign, state: { $in: ['claimed', 'posted', 'deferred', 'sent', 'delivered', 'read', 'failed'] } },
    { limit: most, maxTimeMS: COUNT_MS },
  )
}

export async function reserve(
  { collections }: CampaignServices,
  { workspace }: CampaignRecord,
  { facts, count, now }: { facts: CampaignFacts; count: number; now: number },
): Promise<{ count: number; freeAt?: number; key?: string }> {
  const { account, peopleADay: limit } = facts
  if (account === undefined || limit === null) return { count }
  const key = `${workspace}/${account}`
  return { ...(await reservePeople(collections, { account: key, limit, count, now })), key }
}
