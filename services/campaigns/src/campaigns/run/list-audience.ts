import { insertNew } from '@parley/shared/insert-new'
import type { mongo } from 'mongoose'
import { findPeoplePage } from '../../segments/segment-people.ts'
import type { PersonRecord } from '../../store/person-record.ts'
import { type RecipientRecord, recipientId } from '../../store/recipient-record.ts'
import { dueTime } from '../rules/due-time.ts'
import { type ConsentPurpose, ineligible } from '../rules/eligibility.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { audienceOf } from './audience.ts'
import { type CampaignChannel, type CampaignServices, hasAddress } from './campaign-parts.ts'

const BATCH = 1_000
/** The first ones are soon there, and written to. */
const FIRST_BATCH = 100
/** What of a person decides whether and when they are written to. */
const FIELDS = { addresses: 1, name: 1, language: 1, timeZone: 1, attributes: 1, consent: 1 } as const

/**
 * Lists the next people of a campaign's audience as its recipients, and says how far it is. Repeating it changes nothing:
 * there is one recipient of each campaign and person.
 */
export async function listAudience(
  { connection, collections }: Pick<CampaignServices, 'connection' | 'collections'>,
  campaign: CampaignRecord,
  known: { channel: CampaignChannel; purpose: ConsentPurpose; maxTimeMS: number },
): Promise<NonNullable<CampaignRecord['listed']>> {
  const { _id, listed } = campaign
  const page = await findPeoplePage(connection, audienceOf(campaign), {
    maxTimeMS: known.maxTimeMS,
    ...{ after: listed?.after, limit: listed === undefined ? FIRST_BATCH : BATCH, projection: FIELDS },
  })
  await insertNew(collections.recipients, recipientsFor(campaign, page.people, known))
  const after = page.next ?? listed?.after
  const next = { isDone: page.next === undefined, ...(after !== undefined && { after }) }
  const before =
    listed?.after === undefined ? { 'listed.after': { $exists: false } } : { 'listed.after': listed.after }
  await collections.campaigns.updateOne({ _id, ...before } as mongo.Filter<CampaignRecord>, {
    $set: { listed: next },
  })
  return next
}

function recipientsFor(
  { _id: campaign, workspace, definition, startedAt }: CampaignRecord,
  people: readonly PersonRecord[],
  { channel, purpose }: { channel: CampaignChannel; purpose: ConsentPurpose },
): RecipientRecord[] {
  const updatedAt = new Date()
  const notBefore = (startedAt ?? updatedAt).getTime()
  // One for each zone: there are a few hundred, and finding a time in one is not cheap.
  const dueTimes = new Map<string | undefined, Date>()
  const dueIn = (zone: string | undefined) => {
    const known = dueTimes.get(zone) ?? new Date(dueTime(definition.schedule, zone, notBefore))
    dueTimes.set(zone, known)
    return known
  }
  const rules = {
    _id: campaign,
    purpose,
    ...definition,
    hasAddress: (one: object) => hasAddress(channel, one as PersonRecord),
  }
  return people.map((person) => {
    const reason = ineligible(person, rules)
    return {
      _id: recipientId(campaign, person._id),
      ...{ workspace, campaign, person: person._id, due: dueIn(person.timeZone), updatedAt },
      ...(reason === undefined ? { state: 'waiting' as const } : { state: 'left_out' as const, reason }),
    }
  })
}
