import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { createParley, type Parley } from '@parley/client'
import type { SessionTokens } from '@parley/client/session'
import { isGatewayUrl, URL_EXAMPLES } from './arguments.ts'
import { EXIT, Failure } from './failure.ts'
import { replaceFile } from './replace-file.ts'

/** The stored login of `parley login`. */
interface Profile {
  url: string
  token?: string | undefined
  session?: SessionTokens | undefined
}

/** Where the profile is: in the user's configuration folder. */
export function profilePath(): string {
  const folder = process.env.XDG_CONFIG_HOME || process.env.APPDATA || join(homedir(), '.config')
  return join(folder, 'parley', 'profile.json')
}

/** The stored profile; undefined where nobody is logged in. Throws a Failure for a file that is not one. */
export function readProfile(): Profile | undefined {
  const path = profilePath()
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
  try {
    const { url, token, session } = JSON.parse(text) as Profile
    if (URL.canParse(url)) return { url, token, session }
  } catch {
    // Said below.
  }
  throw new Failure(`${path} is no profile. Remove it, then run parley login.`, EXIT.usage)
}

/** Stores the profile, readable by its user only, in one step: another command may read it at the same time. */
export function writeProfile(profile: Profile): void {
  const path = profilePath()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  replaceFile(path, `${JSON.stringify(profile, null, 2)}\n`, { ownerOnly: true })
}

export function removeProfile(): void {
  rmSync(profilePath(), { force: true })
}

/** Where to call, and as whom: `PARLEY_URL` and `PARLEY_TOKEN`, else the profile. */
export function currentProfile(): Profile {
  const { PARLEY_URL: url, PARLEY_TOKEN: token } = process.env
  const stored = url && token ? undefined : readProfile()
  const chosen = url || stored?.url
  if (chosen === undefined)
    throw new Failure(
      'You are not logged in. Run parley login, or set PARLEY_URL and PARLEY_TOKEN.',
      EXIT.unauthenticated,
    )
  if (!isGatewayUrl(chosen))
    throw new Failure(`PARLEY_URL is not a URL: ${chosen}. ${URL_EXAMPLES}`, EXIT.usage)
  if (token) return { url: chosen, token }
  // A session is no other gateway's.
  if (stored === undefined || new URL(stored.url).origin !== new URL(chosen).origin)
    throw new Failure(
      `You are not logged in at ${chosen}. Set PARLEY_TOKEN, or run parley login.`,
      EXIT.unauthenticated,
    )
  return stored
}

/**
 * A client for the current profile. A session that it refreshes is stored, and one that another command has refreshed
 * is read, as long as the stored session is still the same one: somebody may have logged in anew, or elsewhere.
 */
export function connect({
  repeatForMs = 10_000,
  ...options
}: {
  repeatForMs?: number
  timeoutMs?: number
} = {}): Parley {
  const profile = currentProfile()
  let { session: own } = profile
  const latestSession = () => {
    const stored = readProfile()
    const isOurs = stored?.url === profile.url && isSameSession(stored.session, own)
    return isOurs ? stored?.session : undefined
  }
  const onSession = (session: SessionTokens) => {
    const isStored = latestSession() !== undefined
    own = session
    if (isStored) writeProfile({ ...profile, session })
  }
  return createParley({ ...profile, ...options, repeatForMs, latestSession, onSession })
}

function isSameSession(one: SessionTokens | undefined, other: SessionTokens | undefined): boolean {
  if (one === undefined || other === undefined) return false
  const id = sessionId(one)
  return one.refreshToken === other.refreshToken || (id !== undefined && id === sessionId(other))
}

/** The session's id, which its access tokens have as `sid`. */
function sessionId({ accessToken }: SessionTokens): unknown {
  try {
    const [, claims = ''] = accessToken.split('.')
    return (JSON.parse(Buffer.from(claims, 'base64url').toString()) as { sid?: unknown }).sid
  } catch {
    return undefined
  }
}
