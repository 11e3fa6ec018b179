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

/** People a second. */
const LEAST_RATE = 100
const RATE_WHEN_SHORT = 1_000
const MOST_RATE = 2_500
/** The rate at which recipients are listed, as a multiple of the sending rate. */
const AHEAD = 3
/** Fields of a person that decide whether and when they are written to. */
const FIELDS = { addresses: 1, name: 1, language: 1, timeZone: 1, attributes: 1, consent: 1 } as const

/**
 * How many people are listed a second: no more than what is sent needs, since writing a million recipients as fast as
 * possible takes the database from everybody else. `isShort`: fewer are due than may be sent.
 */
export const listingRate = ({ perSecond, isShort }: { perSecond: number; isShort: boolean }): number =>
  Math.min(MOST_RATE, Math.max(AHEAD * perSecond, isShort ? RATE_WHEN_SHORT : LEAST_RATE))

/**
 * Lists the next people of a campaign's audience as its recipients, and says how far it is. Repeating it changes nothing:
 * there is one recipient of each campaign and person.
 */
export async function listAudience(
  { connection, collections }: Pick<CampaignServices, 'connection' | 'collections'>,
  campaign: CampaignRecord,
  known: { channel: CampaignChannel; purpose: ConsentPurpose; limit: number; maxTimeMS: number },
): Promise<NonNullable<CampaignRecord['listed']>> {
  const { _id, listed } = campaign
  const page = await findPeoplePage(connection, audienceOf(campaign), {
    ...{ after: listed?.after, limit: known.limit, maxTimeMS: known.maxTimeMS, projection: FIELDS },
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
