import type { ComponentType } from 'preact'
import type { PageProps } from '../router.ts'
import { type PagePath, type PathBelow, pathBelow } from '../routes.ts'
import { NotFound } from './basics.tsx'

/** A page that shows by the rest of the path what `screens` has for it. */
export function byPath<Page extends PagePath>(
  page: Page,
  screens: Record<PathBelow<Page>, ComponentType<PageProps>>,
): ComponentType<PageProps> {
  return function PageByPath({ rest, query }) {
    const path = pathBelow(page, rest)
    if (path === undefined) return <NotFound />
    const Screen: ComponentType<PageProps> = screens[path]
    return <Screen rest={rest} query={query} />
  }
}
