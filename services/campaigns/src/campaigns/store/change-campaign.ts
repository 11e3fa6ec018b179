import type { mongo } from 'mongoose'
import { type CampaignAction, nextState, statesBefore } from '../rules/campaign-state.ts'
import type { CampaignCollections } from './campaign-collections.ts'
import type { CampaignRecord } from './campaign-record.ts'

type Campaigns = Pick<CampaignCollections, 'campaigns'>

/**
 * Takes a campaign through a transition, with what goes with it, where its state allows that; undefined where it does not,
 * or where somebody changed it meanwhile: of two who do the same at once, one does it.
 */
export async function changeState(
  { campaigns }: Campaigns,
  campaign: Pick<CampaignRecord, '_id' | 'state' | 'revision'>,
  {
    action,
    set = {},
    unset = [],
  }: {
    action: CampaignAction
    set?: Partial<CampaignRecord>
    unset?: (keyof CampaignRecord)[]
  },
): Promise<CampaignRecord | undefined> {
  const state = nextState(campaign.state, action)
  if (state === undefined) return undefined
  const { _id, revision } = campaign
  const found = await campaigns.findOneAndUpdate(
    { _id, revision, state: { $in: statesBefore(action) } },
    {
      $set: { ...set, state, updatedAt: new Date() },
      $inc: { revision: 1 },
      ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((field) => [field, ''])) }),
    } as mongo.UpdateFilter<CampaignRecord>,
    { returnDocument: 'after' },
  )
  return found ?? undefined
}
