/** Where a campaign stands. */
export const CAMPAIGN_STATES = ['draft', 'scheduled', 'running', 'paused', 'finished', 'cancelled'] as const
export type CampaignState = (typeof CAMPAIGN_STATES)[number]

/** The actions on a campaign. */
export type CampaignAction = 'schedule' | 'unschedule' | 'begin' | 'pause' | 'resume' | 'finish' | 'cancel'

/** The one table of transitions: what is not in it is refused. */
const TRANSITIONS: Readonly<Record<CampaignState, Readonly<Partial<Record<CampaignAction, CampaignState>>>>> =
  {
    draft: { schedule: 'scheduled' },
    scheduled: { unschedule: 'draft', begin: 'running', cancel: 'cancelled' },
    running: { pause: 'paused', finish: 'finished', cancel: 'cancelled' },
    paused: { resume: 'running', finish: 'finished', cancel: 'cancelled' },
    finished: {},
    cancelled: {},
  }

/** The state that an action leads to; undefined where the campaign's state does not allow it. */
export function nextState(state: CampaignState, action: CampaignAction): CampaignState | undefined {
  return TRANSITIONS[state][action]
}

/** The states in which an action is allowed. */
export function statesBefore(action: CampaignAction): CampaignState[] {
  return CAMPAIGN_STATES.filter((state) => nextState(state, action) !== undefined)
}

/** The states in which the content, the audience and the time can be changed. */
export const EDITABLE: readonly CampaignState[] = ['draft']
