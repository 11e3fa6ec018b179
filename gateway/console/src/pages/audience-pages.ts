import { CampaignsPage } from './campaigns.tsx'
import { PeoplePage } from './people.tsx'
import { TemplatesPage } from './templates.tsx'

/** Who is written to, and what with: loaded together, when somebody first goes to one of them. */
export const audiencePages = { campaigns: CampaignsPage, people: PeoplePage, templates: TemplatesPage }
