import type { components } from './api-types.ts'
import { ParleyError, refusalOf } from './parley-error.ts'
import type { Fetch } from './repeated-fetch.ts'

/** The tokens of a session, as logging in and refreshing respond with. */
export type SessionTokens = components['schemas']['SessionTokens']
export type Credentials = components['schemas']['Credentials']

export interface SessionOptions {
  url: string
  /** An API token, or an access token that is not renewed. */
  token?: string | undefined
  /** Logs in when a token is first needed, and when the session can't be refreshed any more. */
  login?: Credentials | undefined
  /** A session of before, which is refreshed where its access token has ended. */
  session?: SessionTokens | undefined
  /** The session as others who share it have renewed it, asked for before it is refreshed: a refresh token that is spent ends it. */
  latestSession?: (() => SessionTokens | undefined) | undefined
  /** Called with each new session before its token is used: the refresh token of the one before it is spent then. */
  onSession?: ((session: SessionTokens) => void | Promise<void>) | undefined
  /** In place of all others: whose token goes with the requests, such as of a session whose refresh token is in a cookie. */
  tokens?: Session | undefined
}

/** Whose token goes with the requests. */
export interface Session {
  /** The token to send; undefined for none. */
  token(): Promise<string | undefined>
  /** The token to send in place of one that was refused; undefined where there is no other. */
  renew(refused: string | undefined): Promise<string | undefined>
}

/**
 * Logs in and refreshes once for all who need a token at the same time. Its methods throw a `ParleyError` where
 * logging in is refused.
 */
export function createSession(
  { url, token, login, session, latestSession, onSession, tokens }: SessionOptions,
  fetch: Fetch,
): Session {
  if (tokens !== undefined) return tokens
  if (token !== undefined) return { token: async () => token, renew: async () => undefined }
  let current = session
  let renewing: Promise<string | undefined> | undefined
  const start = async (path: string, body: object) => {
    const request = new Request(new URL(path, url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const response = await fetch(request)
    if (!response.ok) throw await refusalOf(response)
    current = (await response.json()) as SessionTokens
    await onSession?.(current)
    return current.accessToken
  }
  const refresh = async (refreshToken: string) => {
    try {
      return await start('/api/auth/refresh', { refreshToken })
    } catch (error) {
      if (hasEnded(error)) current = undefined
      if (login === undefined) throw error
      return undefined
    }
  }
  const renew = async () => {
    current = latestSession?.() ?? current
    const refreshToken = current?.refreshToken
    if (refreshToken === undefined) current = undefined
    const renewed = refreshToken === undefined ? undefined : await refresh(refreshToken)
    return renewed ?? (login === undefined ? undefined : start('/api/auth/login', login))
  }
  const renewOnce = () => {
    renewing ??= renew().finally(() => {
      renewing = undefined
    })
    return renewing
  }
  return {
    token: async () => renewing ?? current?.accessToken ?? renewOnce(),
    renew: async (refused) =>
      renewing ??
      (current !== undefined && current.accessToken !== refused ? current.accessToken : renewOnce()),
  }
}

/** Refusals that say nothing of the session: it may be refreshed later. */
const PASSING = [408, 429]

function hasEnded(error: unknown): boolean {
  return (
    error instanceof ParleyError &&
    error.status >= 400 &&
    error.status < 500 &&
    !PASSING.includes(error.status)
  )
}
