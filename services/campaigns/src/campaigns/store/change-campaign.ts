import type { Connection, mongo } from 'mongoose'
import { inTransactionOn, writeHistory } from '../../history/write-history.ts'
import type { Author } from '../../store/author.ts'
import { type CampaignAction, nextState, statesBefore } from '../rules/campaign-state.ts'
import { campaignCollectionsOf } from './campaign-collections.ts'
import type { CampaignRecord } from './campaign-record.ts'

/**
 * Takes a campaign through a transition, with what goes with it, where its state allows that; undefined where it does not,
 * or where somebody changed it meanwhile: of two who do the same at once, one does it.
 */
export async function changeState(
  connection: Connection,
  campaign: CampaignRecord,
  {
    action,
    by,
    set = {},
    unset = [],
  }: {
    action: CampaignAction
    by: Author
    set?: Partial<CampaignRecord>
    unset?: (keyof CampaignRecord)[]
  },
): Promise<CampaignRecord | undefined> {
  const state = nextState(campaign.state, action)
  if (state === undefined) return undefined
  const change = {
    $set: { ...set, state },
    ...(unset.length > 0 && { $unset: Object.fromEntries(unset.map((field) => [field, ''])) }),
  } as mongo.UpdateFilter<CampaignRecord>
  return updateCampaign(connection, campaign, { by, change, states: statesBefore(action) })
}

/** Changes a campaign, and says so in its history; undefined where somebody changed it meanwhile. */
export function updateCampaign(
  connection: Connection,
  campaign: CampaignRecord,
  {
    by,
    change,
    states,
  }: { by: Author; change: mongo.UpdateFilter<CampaignRecord>; states?: readonly string[] },
): Promise<CampaignRecord | undefined> {
  const { _id, revision } = campaign
  return inTransactionOn(connection, async (session) => {
    const found = await campaignCollectionsOf(connection).campaigns.findOneAndUpdate(
      {
        _id,
        revision,
        ...(states !== undefined && { state: { $in: states } }),
      } as mongo.Filter<CampaignRecord>,
      { ...change, $set: { ...change.$set, updatedAt: new Date() }, $inc: { revision: 1 } },
      { returnDocument: 'after', ignoreUndefined: true, session },
    )
    if (found !== null) await noteCampaign(connection, session, { by, before: campaign, after: found })
    return found ?? undefined
  })
}

/** Drafts one. */
export function addCampaign(connection: Connection, campaign: CampaignRecord, by: Author): Promise<void> {
  return inTransactionOn(connection, async (session) => {
    const options = { ignoreUndefined: true, session }
    await campaignCollectionsOf(connection).campaigns.insertOne(campaign, options)
    await noteCampaign(connection, session, { by, after: campaign })
  })
}

/** Deletes one; false where somebody changed it meanwhile. */
export function removeCampaign(
  connection: Connection,
  campaign: CampaignRecord,
  by: Author,
): Promise<boolean> {
  const { _id, revision } = campaign
  return inTransactionOn(connection, async (session) => {
    const { campaigns } = campaignCollectionsOf(connection)
    const { deletedCount } = await campaigns.deleteOne({ _id, revision }, { session })
    if (deletedCount > 0) await noteCampaign(connection, session, { by, before: campaign })
    return deletedCount > 0
  })
}

/** Writes the history of a change; notes that a run makes for itself are no change. */
function noteCampaign(
  connection: Connection,
  session: mongo.ClientSession,
  { by, before, after }: { by: Author; before?: CampaignRecord; after?: CampaignRecord },
): Promise<void> {
  const { _id: id, workspace } = (after ?? before) as CampaignRecord
  const changes = [{ id, before: before && contentOf(before), after: after && contentOf(after) }]
  return writeHistory(connection, session, { workspace, resource: 'campaigns', by, changes })
}

/** People who are named are counted: of somebody who is erased nothing stays. */
function contentOf({ name, channel, definition, state, paused }: CampaignRecord): object {
  const { audience } = definition
  return {
    ...{ name, channel, ...definition, state },
    audience: 'people' in audience ? { people: audience.people.length } : audience,
    ...(paused !== undefined && { paused: { reason: paused.reason } }),
  }
}
