import { PeoplePage } from './people.tsx'
import { TemplatesPage } from './templates.tsx'

/** Who is written to, and what with: loaded together, when somebody first goes to one of them. */
export const audiencePages = { people: PeoplePage, templates: TemplatesPage }
