/** Something that `/rest/check` finds wrong. */
export interface Finding {
  code: string
  resource: string
  _id: number
  path: string
  message: string
}

/** Resources whose documents have a page elsewhere than below `/assistants`. */
const PAGES: Record<string, string> = { channels: '/channels', subscriptions: '/events' }

/** The page of the document that a finding is about, below `/console`. */
export function hrefOfFinding({ resource, _id }: Pick<Finding, 'resource' | '_id'>): string {
  return `${PAGES[resource] ?? `/assistants/${resource}`}/${_id}`
}
