import type { Route } from '@parley/shared/openapi/route'
import { attributeRoutes } from './attributes/attribute-routes.ts'
import type { CampaignRoutesNeeded } from './campaigns/api/campaign-access.ts'
import { campaignRoutes } from './campaigns/campaign-routes.ts'
import { consentRoutes } from './consent/consent-routes.ts'
import type { Dependencies } from './dependencies.ts'
import { importRoutes } from './imports/import-routes.ts'
import { personRoutes } from './people/person-routes.ts'
import { segmentRoutes } from './segments/segment-routes.ts'
import { templateRoutes } from './templates/template-routes.ts'

/** Every public operation of this service. */
export const routes: readonly Route<Dependencies & CampaignRoutesNeeded>[] = [
  ...[attributeRoutes, personRoutes, importRoutes, consentRoutes, segmentRoutes, templateRoutes].flat(),
  ...campaignRoutes,
]
