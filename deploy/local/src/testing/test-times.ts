import type { Times as CampaignTimes } from '@parley/campaigns/times'
import { TIMES, type Times } from '@parley/dispatcher/times'

/** The dispatcher's times in tests: shorter where they wait for what is looked for in vain. */
export const TEST_TIMES: Times = { ...TIMES, lookUpFor: 2_500, lookUpAgain: 250 }

/** Those of the campaigns service. */
export const TEST_CAMPAIGN_TIMES: CampaignTimes = { list: 2_000 }
