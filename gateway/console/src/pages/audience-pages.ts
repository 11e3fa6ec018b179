import { CampaignsPage } from './campaigns.tsx'
import { BulkBar } from './conversation-bulk.tsx'
import { PeoplePage } from './people.tsx'
import { TemplatesPage } from './templates.tsx'

/** Who is written to, what with, and what is done with many conversations: loaded together, when one of them is first shown. */
export const audiencePages = {
  bulk: BulkBar,
  campaigns: CampaignsPage,
  people: PeoplePage,
  templates: TemplatesPage,
}
