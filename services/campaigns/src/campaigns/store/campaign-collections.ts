import type { LeasedDocument } from '@parley/shared/lease'
import type { Connection, mongo } from 'mongoose'
import type { RecipientRecord } from '../../store/recipient-record.ts'
import type { CampaignRecord } from './campaign-record.ts'

/** How many people an account wrote to first, by the hour, over all of its campaigns. */
interface PeopleLimitRecord {
  /** `<workspace>/<account>` */
  _id: string
  hours: Record<string, number>
  revision: number
}

export interface CampaignCollections {
  campaigns: mongo.Collection<CampaignRecord>
  recipients: mongo.Collection<RecipientRecord>
  campaignLeases: mongo.Collection<LeasedDocument>
  peopleLimits: mongo.Collection<PeopleLimitRecord>
}

/** The collections of campaigns, on the native driver. */
export function campaignCollectionsOf(connection: Connection): CampaignCollections {
  const native = <T extends mongo.BSON.Document>(name: string) =>
    connection.collection<T>(name) as unknown as mongo.Collection<T>
  return {
    campaigns: native('campaigns'),
    recipients: native('recipients'),
    campaignLeases: native('campaignLeases'),
    peopleLimits: native('peopleLimits'),
  }
}

/** The next recipients to send to, the earliest first; with the state at the front, states are counted from it alone. */
const DUE_INDEX = { campaign: 1, state: 1, due: 1, _id: 1 } as const

/** The indexes of each of the collections. */
export const CAMPAIGN_INDEXES: Record<keyof CampaignCollections, mongo.IndexDescription[]> = {
  campaigns: [
    { key: { workspace: 1, _id: -1 } },
    { key: { active: 1, beginsAt: 1 }, partialFilterExpression: { active: true } },
  ],
  recipients: [
    { key: DUE_INDEX },
    { key: { campaign: 1, reason: 1 }, partialFilterExpression: { reason: { $exists: true } } },
    { key: { campaign: 1, checkAt: 1 }, partialFilterExpression: { checkAt: { $exists: true } } },
    { key: { campaign: 1, claimedAt: -1 }, partialFilterExpression: { claimedAt: { $exists: true } } },
    { key: { workspace: 1, person: 1, claimedAt: -1 } },
  ],
  campaignLeases: [],
  peopleLimits: [],
}
