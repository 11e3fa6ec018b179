import { CampaignsPage } from './campaigns.tsx'
import { BulkBar } from './conversation-bulk.tsx'
import { PeoplePage } from './people.tsx'
import { TemplatesPage } from './templates.tsx'

/** The pages of people, templates, campaigns and bulk changes: loaded together, when one of them is first shown. */
export const audiencePages = {
  bulk: BulkBar,
  campaigns: CampaignsPage,
  people: PeoplePage,
  templates: TemplatesPage,
}
