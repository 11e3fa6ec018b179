import { createStore, useStore } from './store.ts'

/** Where the console is: the path below `/console`, and the query. */
interface Place {
  path: string
  query: URLSearchParams
}

const BASE = '/console'
const here = (): Place => ({
  path: location.pathname.slice(BASE.length).replace(/\/$/, '') || '/',
  query: new URLSearchParams(location.search),
})
const place = createStore(here())

export const usePlace = (): Place => useStore(place)
export const hrefOf = (path: string): string => BASE + (path === '/' ? '' : path)

/** Goes to a path below `/console`, which may have a query. */
export function navigate(path: string, { replace = false } = {}): void {
  const href = hrefOf(path)
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  place.set(here())
  if (!replace) {
    scrollTo(0, 0)
    document.getElementById('main')?.focus({ preventScroll: true })
  }
}

/** Follows the browser's buttons, and makes links below `/console` change the page without loading it. */
export function followHistory(): void {
  addEventListener('popstate', () => place.set(here()))
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0
    if (link === null || modified || event.defaultPrevented || link.target !== '' || link.download !== '')
      return
    if (link.origin !== location.origin || !`${link.pathname}/`.startsWith(`${BASE}/`) || link.hash !== '')
      return
    event.preventDefault()
    navigate(link.pathname.slice(BASE.length) + link.search)
  })
}

/** Sets parameters of the query in place; empty ones are left out. */
export function setQuery(change: Record<string, string | undefined>): void {
  const { path, query } = here()
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, value)
  }
  navigate(query.size === 0 ? path : `${path}?${query}`, { replace: true })
}

/** What a page is given of the path and query. */
export interface PageProps {
  /** The segments of the path below the page's own. */
  rest: string[]
  query: URLSearchParams
}
