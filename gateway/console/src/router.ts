import { createStore, useStore } from './store.ts'
import { isUnsaved, mayLeave } from './unsaved.ts'

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
/** Which entry of the tab's history this is, so that a step back can be undone. */
let position = 0

export const usePlace = (): Place => useStore(place)
export const hrefOf = (path: string): string => BASE + (path === '/' ? '' : path)

/** Goes to a path below `/console`, which may have a query; what was typed and not saved is lost. */
export function navigate(path: string, { replace = false } = {}): void {
  const href = hrefOf(path)
  if (replace) history.replaceState({ position }, '', href)
  else history.pushState({ position: ++position }, '', href)
  place.set(here())
  if (!replace) {
    scrollTo(0, 0)
    document.getElementById('main')?.focus({ preventScroll: true })
  }
}

/** The same once nothing is lost by it. */
export async function leaveTo(path: string): Promise<void> {
  if (!isUnsaved() || (await mayLeave())) navigate(path)
}

/** Follows the browser's buttons, and makes links below `/console` change the page without loading it. */
export function followHistory(): void {
  if (positionNow() === undefined) history.replaceState({ position }, '', location.href)
  position = positionNow() ?? 0
  addEventListener('popstate', () => void followStep())
  document.addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest('a') : null
    const modified = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0
    if (link === null || modified || event.defaultPrevented || link.target !== '' || link.download !== '')
      return
    if (link.origin !== location.origin || !`${link.pathname}/`.startsWith(`${BASE}/`) || link.hash !== '')
      return
    event.preventDefault()
    void leaveTo(link.pathname.slice(BASE.length) + link.search)
  })
}

const positionNow = (): number | undefined => (history.state as { position?: number } | null)?.position

/** The browser has made its step already: it is undone while somebody is asked whether to leave what they typed. */
async function followStep(): Promise<void> {
  const to = positionNow()
  const steps = to === undefined ? 0 : to - position
  if (steps !== 0 && isUnsaved()) {
    history.go(-steps)
    if (await mayLeave()) history.go(steps)
    return
  }
  if (to !== undefined) position = to
  const now = here()
  const { path, query } = place.get()
  if (now.path !== path || now.query.toString() !== query.toString()) place.set(now)
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

/** The parts of the path and query that a page is given. */
export interface PageProps {
  /** The segments of the path below the page's own. */
  rest: string[]
  query: URLSearchParams
}
