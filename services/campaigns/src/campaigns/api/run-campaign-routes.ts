import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { authorOf } from '../../store/author.ts'
import { type CampaignAction, nextState } from '../rules/campaign-state.ts'
import { dueTime } from '../rules/due-time.ts'
import { leaveOutWaiting } from '../run/wind-down.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { changeState } from '../store/change-campaign.ts'
import {
  type CampaignRoutesNeeded,
  campaignParameter,
  refuseState,
  requireCampaign,
  requireMaySend,
  requireSendable,
} from './campaign-access.ts'
import { campaignView, campaignViewExample } from './campaign-schema.ts'
import { viewOf } from './campaign-view.ts'
import { requireFittingMessage } from './check-message.ts'

/** Where a day begins first. */
const FIRST_ZONE = 'Pacific/Kiritimati'
const MAX_CATEGORIES = 20

type Change = Pick<Parameters<typeof changeState>[2], 'set' | 'unset'>

interface ActionRoute {
  name: string
  action: CampaignAction
  id: string
  summary: string
  description: string
  /** Returns the fields that change with the action. Throws where something else is in the way. */
  change(
    needed: CampaignRoutesNeeded,
    campaign: CampaignRecord,
    caller: ReturnType<typeof callerOf>,
  ): Promise<Change>
  finally?(needed: CampaignRoutesNeeded, campaign: CampaignRecord): Promise<void>
}

const actions: readonly ActionRoute[] = [
  {
    name: 'schedule',
    action: 'schedule',
    id: 'scheduleCampaign',
    summary: 'Schedule a campaign',
    description:
      'It begins by itself at its time, at once where it has none. Takes a role that posts messages, and reads what it names; of the audience only those are written to whom the role may read.',
    async change(needed, campaign, caller) {
      const { endsAt } = campaign.definition.schedule
      if (endsAt !== undefined && Date.parse(endsAt) <= Date.now())
        throw new Problem('validation_failed', {
          errors: [{ path: '/schedule/endsAt', code: 'in_the_past', message: 'has gone by' }],
        })
      const may = await requireMaySend(needed, { caller, ...campaign })
      const known = await requireSendable(needed, campaign)
      await requireFittingMessage(needed, campaign)
      return { set: { ...may, ...known, active: true, beginsAt: new Date(beginOf(campaign)) } }
    },
  },
  {
    name: 'unschedule',
    action: 'unschedule',
    id: 'unscheduleCampaign',
    summary: 'Make a scheduled campaign a draft again',
    description: 'It has not begun yet.',
    change: async () => ({
      unset: ['active', 'beginsAt', 'peopleRule', 'segmentFilter', 'shape', 'categories'],
    }),
  },
  {
    name: 'pause',
    action: 'pause',
    id: 'pauseCampaign',
    summary: 'Pause a campaign',
    description: 'Nothing is sent from then on; the few messages that are under way arrive.',
    change: async (_needed, _campaign, caller) => ({
      set: { paused: { reason: 'person', at: new Date(), by: caller.account.username } },
      unset: ['waiting'],
    }),
  },
  {
    name: 'resume',
    action: 'resume',
    id: 'resumeCampaign',
    summary: 'Resume a campaign',
    description:
      'It goes on exactly where it was paused, whoever did that. What it stopped for counts anew from then on; where its template has another category, that is agreed to.',
    async change(needed, campaign, caller) {
      await requireMaySend(needed, { caller, ...campaign })
      const { workspace, channel, definition, categories = [] } = campaign
      const { connection, campaigns } = needed
      const known = await campaigns.findTemplate(connection, { workspace, channel, ...definition.template })
      const now = known?.category
      const isOther = now !== undefined && now !== categories.at(-1)
      const agreed = isOther ? { categories: [...categories, now].slice(-MAX_CATEGORIES) } : {}
      return { set: { since: new Date(), ...agreed }, unset: ['paused'] }
    },
  },
  {
    name: 'cancel',
    action: 'cancel',
    id: 'cancelCampaign',
    summary: 'Cancel a campaign',
    description: 'For good: who has not been written to by then is left out.',
    change: async () => ({ set: { endedAt: new Date() }, unset: ['waiting', 'paused'] }),
    finally: ({ campaigns }, campaign) => leaveOutWaiting(campaigns, campaign, 'cancelled'),
  },
]

function routeOf({
  name,
  action,
  id,
  summary,
  description,
  change,
  finally: after,
}: ActionRoute): Route<CampaignRoutesNeeded> {
  return route({
    method: 'POST',
    path: `/rest/campaigns/{id}/${name}` as '/rest/campaigns/{id}/pause',
    access: 'write',
    id,
    tag: 'campaigns',
    summary,
    description,
    parameters: [campaignParameter],
    response: { schema: campaignView, example: campaignViewExample },
    errors: ['invalid_id', 'not_found', 'campaign_state', 'validation_failed', 'reference_forbidden'],
    handle: (needed: CampaignRoutesNeeded) => async (req, res) => {
      const caller = callerOf(res)
      const campaign = await requireCampaign(needed, { caller, params: req.params, access: 'write' })
      if (nextState(campaign.state, action) === undefined)
        throw refuseState(campaign, `there is no ${action} from there`)
      const changed = await takeThrough(needed, campaign, {
        action,
        by: authorOf(caller),
        ...(await change(needed, campaign, caller)),
      })
      needed.campaignChanged()
      await after?.(needed, changed)
      res.json(viewOf(changed))
    },
  })
}

async function takeThrough(
  { connection }: CampaignRoutesNeeded,
  campaign: CampaignRecord,
  change: Parameters<typeof changeState>[2],
): Promise<CampaignRecord> {
  const changed = await changeState(connection, campaign, change)
  if (changed === undefined) throw refuseState(campaign, 'somebody has changed it in this moment')
  return changed
}

/** When there may be somebody to write to first. */
function beginOf({ definition: { schedule } }: CampaignRecord): number {
  const timeZone = schedule.inEachTimeZone ? FIRST_ZONE : schedule.timeZone
  return dueTime({ at: schedule.at, timeZone, inEachTimeZone: false }, undefined, Date.now())
}

export const runCampaignRoutes: readonly Route<CampaignRoutesNeeded>[] = actions.map(routeOf)
