import { Problem } from '@parley/shared/problem'
import type { Request, Response } from 'express'
import { REFRESH_MS } from '../store/session.ts'
import type { SessionTokens } from './tokens.ts'

const NAME = 'parley_refresh'
const PATH = '/api/auth'
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/
/** Longer than any refresh token, so that nothing large is looked for. */
const MAX_CHARACTERS = 256

/**
 * Sends the tokens with the refresh token in a cookie that no script reads and no other site sends, and not in the
 * body. The cookie has `Secure` except for a page of this machine that was loaded over HTTP.
 */
export function sendWithCookie(req: Request, res: Response, tokens: SessionTokens): void {
  const { refreshToken, ...rest } = tokens
  setCookie(req, res, { value: refreshToken, maxAgeSeconds: REFRESH_MS / 1_000 })
  res.set('cache-control', 'no-store').json(rest)
}

/** Makes the browser forget the refresh token. */
export function clearRefreshCookie(req: Request, res: Response): void {
  setCookie(req, res, { value: '', maxAgeSeconds: 0 })
}

/** The refresh token of the cookie, if there is one. Throws `forbidden` when a page of another origin sends it. */
export function refreshCookie(req: Request): string | undefined {
  const pair = (req.headers.cookie ?? '')
    .split(';')
    .map((one) => one.trim())
    .find((one) => one.startsWith(`${NAME}=`))
  const value = pair?.slice(NAME.length + 1)
  if (value === undefined || value === '' || value.length > MAX_CHARACTERS) return undefined
  requireSameOrigin(req)
  return value
}

/** Throws `forbidden` unless a page of the address that was asked sent the request. */
export function requireSameOrigin(req: Request): void {
  const host = req.headers['x-forwarded-host'] ?? req.headers.host
  if (originOf(req)?.host !== host)
    throw new Problem('forbidden', { detail: 'The Origin is not the address that was asked.' })
}

function setCookie(
  req: Request,
  res: Response,
  { value, maxAgeSeconds }: { value: string; maxAgeSeconds: number },
): void {
  const origin = originOf(req)
  const plain = origin?.protocol === 'http:' && LOOPBACK.test(origin.hostname)
  const attributes = `Path=${PATH}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${plain ? '' : '; Secure'}`
  res.append('set-cookie', `${NAME}=${value}; ${attributes}`)
}

function originOf({ headers }: Request): URL | undefined {
  const { origin } = headers
  return origin !== undefined && URL.canParse(origin) ? new URL(origin) : undefined
}
