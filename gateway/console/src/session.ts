import type { Session } from '@parley/client/session'
import { createStore } from './store.ts'

/** The state of the session: `unknown` until the cookie was tried, `ended` where nobody has logged out. */
export const session = createStore<'unknown' | 'in' | 'out' | 'ended'>('unknown')

/**
 * The account whose token goes with the requests. Tabs share a cookie, so it changes where somebody else has signed in in
 * another tab by the time the token is renewed.
 */
export const account = createStore<string | undefined>(undefined)

/** Asks for the next access token with the cookie, which no script reads. */
export type Refresh = () => Promise<{ accessToken: string } | 'ended' | 'unavailable'>

interface CookieSession extends Session {
  begin(accessToken: string): void
  /** `ended` where nobody has logged out. */
  end(how?: 'out' | 'ended'): void
  /** Goes on with the session of the cookie, if there is one. */
  resume(): Promise<void>
}

// Says only that there may be a cookie, so that nobody without one is asked for it.
const SIGNED_IN = 'parley.signed-in'
const AGAIN_MS = 1_000

/** A session whose refresh token is in a cookie; it is refreshed once for all requests that need it at the same time. */
export function createCookieSession(refresh: Refresh): CookieSession {
  let accessToken: string | undefined
  let refreshing: Promise<string | undefined> | undefined
  const begin = (token: string) => {
    accessToken = token
    account.set(subjectOf(token))
    localStorage.setItem(SIGNED_IN, '1')
    session.set('in')
  }
  const end = (how: 'out' | 'ended' = 'out') => {
    accessToken = undefined
    account.set(undefined)
    // Other tabs see by it that nobody has logged out.
    if (how === 'out') localStorage.removeItem(SIGNED_IN)
    session.set(how)
  }
  const renewOnce = async () => {
    const outcome = await refresh()
    // Whoever logs out in another tab is out in this one, too.
    if (outcome === 'ended')
      end(session.get() === 'unknown' || localStorage.getItem(SIGNED_IN) === null ? 'out' : 'ended')
    // Unavailable is no reason to sign anybody out.
    else if (outcome === 'unavailable') {
      if (session.get() === 'unknown') setTimeout(() => void renew(), AGAIN_MS)
    } else begin(outcome.accessToken)
    return typeof outcome === 'string' ? undefined : outcome.accessToken
  }
  const renew = () => {
    refreshing ??= renewOnce().finally(() => {
      refreshing = undefined
    })
    return refreshing
  }
  // Somebody may have logged in again in another tab.
  addEventListener('focus', () => session.get() === 'ended' && void renew())
  return {
    begin,
    end,
    token: async () => refreshing ?? accessToken,
    renew: async (refused) => {
      if (accessToken !== undefined && accessToken !== refused) return accessToken
      return session.get() === 'ended' ? undefined : renew()
    },
    async resume() {
      if (localStorage.getItem(SIGNED_IN) === null) session.set('out')
      else await renew()
    },
  }
}

/** The account that a token was issued to; undefined where it does not say so. */
function subjectOf(token: string): string | undefined {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
    return (JSON.parse(atob(payload)) as { sub?: string }).sub
  } catch {
    return undefined
  }
}
