import type { Route } from '@parley/shared/openapi/route'
import type { Dependencies } from '../dependencies.ts'
import type { CampaignRoutesNeeded } from './api/campaign-access.ts'
import { planCampaignRoutes } from './api/plan-campaign-routes.ts'
import { readCampaignRoutes } from './api/read-campaign-routes.ts'
import { resultsRoutes } from './api/results-route.ts'
import { runCampaignRoutes } from './api/run-campaign-routes.ts'
import { writeCampaignRoutes } from './api/write-campaign-routes.ts'

/** Every public operation on campaigns. */
export const campaignRoutes: readonly Route<Dependencies & CampaignRoutesNeeded>[] = [
  ...[readCampaignRoutes, writeCampaignRoutes, runCampaignRoutes, planCampaignRoutes, resultsRoutes].flat(),
]
