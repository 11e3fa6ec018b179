import { defined } from '@parley/shared/defined'
import type { CampaignRecord } from '../store/campaign-record.ts'

/** A campaign as callers see it. */
export function viewOf(campaign: CampaignRecord): object {
  const {
    _id,
    name,
    channel,
    definition,
    state,
    createdAt,
    updatedAt,
    startedAt,
    endedAt,
    paused,
    waiting,
    listed,
  } = campaign
  return {
    ...{ _id, name, channel, ...definition, state, createdAt, updatedAt },
    ...defined({ startedAt, endedAt, waiting }),
    ...(paused === undefined ? {} : { paused: { reason: paused.reason, at: paused.at } }),
    isListed: listed?.isDone === true,
  }
}

/** The fields that a role's rules see. */
export const CAMPAIGN_FIELDS: ReadonlySet<string> = new Set([
  ...['_id', 'name', 'channel', 'state', 'createdAt', 'updatedAt', 'startedAt', 'endedAt'],
])
