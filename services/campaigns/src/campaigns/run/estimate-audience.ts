import { countPeople, findPeoplePage, type PeoplePage } from '../../segments/segment-people.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import { type LeftOutReason, type RecipientRecord, recipientId } from '../../store/recipient-record.ts'
import { budgetMessages } from '../rules/budget.ts'
import { type ConsentPurpose, ineligible } from '../rules/eligibility.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { audienceOf } from './audience.ts'
import { type CampaignChannel, hasAddress } from './campaign-parts.ts'
import type { RunServices } from './campaign-step.ts'
import { overCap } from './frequency-cap.ts'

const LOOK_MS = 4_000
const BATCH = 1_000

/** How many would be written to, and who would be left out. */
interface AudienceEstimate {
  audience: number
  recipients: number
  leftOutBy: { reason: LeftOutReason; recipients: number }[]
  isExact: boolean
}

/**
 * Looks at the people of a campaign as its run would, for 4 s at most; what it says of those whom it did not get to follows
 * from those whom it saw.
 */
export async function estimateAudience(
  services: RunServices,
  campaign: CampaignRecord,
  {
    channel,
    purpose,
    categories,
  }: { channel: CampaignChannel; purpose: ConsentPurpose; categories: readonly string[] },
): Promise<AudienceEstimate> {
  const { definition, _id } = campaign
  const asked = audienceOf(campaign)
  const audience = await countPeople(services.connection, asked)
  const rules = {
    _id,
    purpose,
    ...definition,
    hasAddress: (one: object) => hasAddress(channel, one as PersonRecord),
  }
  const counts = new Map<LeftOutReason, number>()
  const add = (reason: LeftOutReason, by = 1) => counts.set(reason, (counts.get(reason) ?? 0) + by)
  const until = performance.now() + LOOK_MS
  let seen = 0
  for (let after: string | undefined = ''; after !== undefined && performance.now() < until; ) {
    const page: PeoplePage = await findPeoplePage(services.connection, asked, { after, limit: BATCH })
    const eligible: RecipientRecord[] = []
    for (const person of page.people) {
      const reason = ineligible(person, rules)
      if (reason === undefined) eligible.push(asClaimed(campaign, person))
      else add(reason)
    }
    const capped = await overCap(services, campaign, { claimed: eligible, now: Date.now() })
    add('frequency_cap', capped.size)
    seen += page.people.length
    after = page.next
  }
  const scale = seen === 0 ? 0 : Math.max(1, audience / seen)
  const leftOutBy = [...counts]
    .filter(([, count]) => count > 0)
    .map(([reason, count]) => ({ reason, recipients: Math.round(count * scale) }))
  const eligible = audience - leftOutBy.reduce((sum, { recipients }) => sum + recipients, 0)
  const most = budgetMessages(definition.budget, categories) ?? eligible
  const overBudget = Math.max(0, eligible - most)
  if (overBudget > 0) leftOutBy.push({ reason: 'budget', recipients: overBudget })
  return { audience, recipients: Math.max(0, eligible - overBudget), leftOutBy, isExact: seen >= audience }
}

const asClaimed = (
  { _id: campaign, workspace }: CampaignRecord,
  { _id: person }: PersonRecord,
): RecipientRecord => {
  const now = new Date()
  return {
    _id: recipientId(campaign, person),
    workspace,
    campaign,
    person,
    state: 'claimed',
    due: now,
    updatedAt: now,
  }
}
