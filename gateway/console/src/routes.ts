/** Paths below each page of the console, in the order in which they are matched; `:` begins a segment of any value. */
const ROUTES = {
  '/': [''],
  '/conversations': ['', ':id'],
  '/messages': ['', ':id'],
  '/assistants': ['', 'new', ':resource', ':resource/:id'],
  '/people': ['', 'segments', 'segments/:id', 'attributes', ':id'],
  '/campaigns': ['', 'new', ':id', ':id/edit'],
  '/templates': ['', 'new', ':id', ':id/edit'],
  '/channels': ['', 'new', ':id', ':id/connect'],
  '/events': ['', 'new', ':id'],
  '/team': ['', 'roles/:id', ':section'],
  '/account': [''],
  '/connected': [''],
} as const

/** Where somebody comes in who has not logged in. */
export const ENTRANCES = ['/login', '/register', '/invitation', '/forgot-password', '/new-password'] as const

export type PagePath = keyof typeof ROUTES
export type PathBelow<Page extends PagePath> = (typeof ROUTES)[Page][number]

/** Which of a page's paths these segments are; undefined for none. */
export function pathBelow<Page extends PagePath>(
  page: Page,
  segments: readonly string[],
): PathBelow<Page> | undefined {
  return ROUTES[page].find((path) => {
    const parts = path === '' ? [] : path.split('/')
    return (
      parts.length === segments.length && parts.every((part, at) => part[0] === ':' || part === segments[at])
    )
  })
}
