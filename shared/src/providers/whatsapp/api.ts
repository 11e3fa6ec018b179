import type { ProviderRequest } from '../http.ts'
import type { Settings } from '../setting.ts'

/** The version of the Graph API that is used where a channel names no other. */
export const VERSION = 'v26.0'
export const API = `https://graph.facebook.com/${VERSION}`

/**
 * Until when Meta has each version, by its changelog of 29 July 2026; there is no date for the newest. A call of one that
 * has ended is made with the oldest that there still is.
 */
export const VERSION_ENDS: Readonly<Record<string, string | undefined>> = {
  'v17.0': '2025-09-12',
  'v18.0': '2026-01-26',
  'v19.0': '2026-05-21',
  'v20.0': '2026-09-24',
  'v21.0': '2027-01-21',
  'v22.0': '2027-05-20',
  'v23.0': '2027-10-08',
  'v24.0': '2028-02-18',
  'v25.0': '2028-07-29',
  'v26.0': undefined,
}
const WARNING_MS = 183 * 24 * 60 * 60 * 1_000
const VERSIONED = /\/(v\d{1,3}\.\d{1,2})\/?$/

/** A path at the API that a channel uses: `apiVersion` is in the place of the version in `apiUrl`. */
export function addressOf({ apiUrl = API, apiVersion }: Settings, path: string): string {
  const base = apiUrl.replace(/\/$/, '')
  if (apiVersion === undefined) return `${base}/${path}`
  return `${base.replace(VERSIONED, '')}/${encodeURIComponent(apiVersion)}/${path}`
}

/** The number of the version that a channel uses; the default's where it names none. */
export function versionOf({ apiUrl = API, apiVersion }: Settings): number {
  const version = apiVersion ?? VERSIONED.exec(apiUrl)?.[1] ?? VERSION
  return Number.parseInt(version.slice(1), 10)
}

export function get(settings: Settings, path: string): ProviderRequest {
  return requestTo(addressOf(settings, path), settings)
}

export function requestTo(url: string, { accessToken }: Settings): ProviderRequest {
  return { method: 'GET', url, headers: { authorization: `Bearer ${accessToken}` } }
}

/** A warning about the version that a channel uses: that it ends within six months, or has ended. */
export function versionWarning({ apiUrl = API, apiVersion }: Settings, now: Date): string | undefined {
  const version = apiVersion ?? VERSIONED.exec(apiUrl)?.[1]
  const end =
    version === undefined || !Object.hasOwn(VERSION_ENDS, version) ? undefined : VERSION_ENDS[version]
  if (end === undefined || Date.parse(end) - now.getTime() > WARNING_MS) return undefined
  const isOver = Date.parse(end) <= now.getTime()
  return `version ${version} of the Graph API ${isOver ? 'ended' : 'ends'} on ${end}; the one that is used by default is ${VERSION}`
}
