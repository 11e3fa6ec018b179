import type { Replica } from '@parley/shared/config-replica/replica'
import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { z } from 'zod'
import { type BoundOrigins, reasonToWithhold } from '../channels/http/bound-credentials.ts'
import type { SecurityScheme } from './security.ts'

/** They were stored for another origin than the one to be called. */
export const CREDENTIALS_WITHHELD = 'credentials_withheld'
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const LEAST_REDACTED = 4

/** The credentials of an action, opened, and where they go. */
export interface ActionCredentials {
  value: JsonObject
  origins: BoundOrigins
}

/** The credentials of an action; undefined where it has none. Rejects with `unavailable`. */
export type CredentialsOf = (
  action: { workspace: number; _id: number },
  /** A read before this time (milliseconds since the epoch) is too old, as long as configuration answers. */
  options?: { notBefore: number },
) => Promise<ActionCredentials | undefined>

const originsSchema = z.array(z.string()).optional()

export function createCredentialsOf(options: {
  replica: Pick<Replica, 'find'>
  secrets: Pick<SecretBox, 'open'>
}): CredentialsOf {
  const { replica, secrets } = options
  return async ({ workspace, _id }, needs) => {
    const owned = { resource: 'configs', workspace, owner: _id, ownerType: 'action' } as const
    const found = (await replica.find(owned, needs)).find(({ name }) => name === CREDENTIALS_CONFIG)
    const { name, value } = { ...found }
    const { data } = jsonObject.safeParse(openSecrets({ name, value }, secrets, workspace).value)
    return data === undefined ? undefined : { value: data, origins: originsSchema.parse(found?.origins) }
  }
}

/** Why the credentials of an action are not sent to `url`; undefined where they may be, or there are none. */
export function reasonToWithholdCredentials(
  action: number,
  credentials: ActionCredentials | undefined,
  url: string,
): string | undefined {
  return (
    credentials && reasonToWithhold(`The config credentials of action ${action}`, credentials.origins, url)
  )
}

/** The parts of a request that come from credentials; `secrets` must never be shown. */
export interface Credentialed {
  headers: Record<string, string>
  query: Array<[string, string]>
  cookies: Array<[string, string]>
  secrets: string[]
}

/**
 * What fills the first of the alternatives that the credentials suffice for. They are `{apiKey}`, `{token}` or
 * `{username, password}`, for one scheme the same under its id, and all of that or a part may lie under
 * `credentials`.
 */
export function credentialsFor(
  security: readonly SecurityScheme[][],
  credentials: JsonObject | undefined,
): Credentialed {
  const given = membersOf(credentials)
  for (const schemes of security) {
    const filled = schemes.map((scheme) => filledScheme(scheme, given))
    if (filled.every((one) => one !== undefined)) return together(filled)
  }
  return together([])
}

/** The headers for an MCP server: those under `headers`, and `token`, `apiKey` or name and password as Authorization. */
export function headersFor(credentials: JsonObject | undefined): Credentialed {
  const given = membersOf(credentials)
  const named = Object.entries(objectIn(given, 'headers')).flatMap(([name, value]) => {
    const isHeader = HEADER_NAME.test(name) && typeof value === 'string' && HEADER_VALUE.test(value)
    return isHeader ? [{ headers: { [name.toLowerCase()]: value }, secrets: [value] }] : []
  })
  const authorization = basicHeader(given) ?? bearerHeader(textIn(given, 'token') ?? textIn(given, 'apiKey'))
  return together(authorization === undefined ? named : [authorization, ...named])
}

/** A text without the secrets, in none of the forms in which they were sent. */
export function redacted(text: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    new URLSearchParams({ '': secret }).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
  ])
  const longestFirst = [...new Set(forms)].filter((form) => form.length >= LEAST_REDACTED)
  return longestFirst
    .toSorted((one, other) => other.length - one.length)
    .reduce((left, form) => left.replaceAll(form, MASK), text)
}

function membersOf(credentials: JsonObject | undefined): JsonObject {
  return { ...credentials, ...objectIn(credentials, 'credentials') }
}

function filledScheme(scheme: SecurityScheme, given: JsonObject): Partial<Credentialed> | undefined {
  const own = Object.hasOwn(given, scheme.id) ? given[scheme.id] : undefined
  const from = jsonObject.safeParse(own).data ?? given
  const text = typeof own === 'string' ? own : undefined
  if (scheme.kind === 'basic') return basicHeader(from)
  if (scheme.kind === 'bearer') return bearerHeader(text ?? textIn(from, 'token'))
  const key = text ?? textIn(from, 'apiKey')
  if (key === undefined) return undefined
  const { name, place } = scheme
  if (place === 'query') return { query: [[name, key]], secrets: [key] }
  if (place === 'cookie') return { cookies: [[name, key]], secrets: [key] }
  const isHeader = HEADER_NAME.test(name) && HEADER_VALUE.test(key)
  return isHeader ? { headers: { [name.toLowerCase()]: key }, secrets: [key] } : undefined
}

function bearerHeader(token: string | undefined): Partial<Credentialed> | undefined {
  if (token === undefined || !HEADER_VALUE.test(token)) return undefined
  return { headers: { authorization: `Bearer ${token}` }, secrets: [token] }
}

function basicHeader(from: JsonObject): Partial<Credentialed> | undefined {
  const [username, password] = [textIn(from, 'username'), textIn(from, 'password')]
  if (username === undefined || password === undefined) return undefined
  const encoded = Buffer.from(`${username}:${password}`).toString('base64')
  return { headers: { authorization: `Basic ${encoded}` }, secrets: [password, encoded] }
}

function together(parts: readonly (Partial<Credentialed> | undefined)[]): Credentialed {
  return {
    headers: Object.assign({}, ...parts.map((part) => part?.headers)),
    query: parts.flatMap((part) => part?.query ?? []),
    cookies: parts.flatMap((part) => part?.cookies ?? []),
    secrets: parts.flatMap((part) => part?.secrets ?? []),
  }
}

/** A secret that could not be opened is none. */
function textIn(given: JsonObject, key: string): string | undefined {
  const value = Object.hasOwn(given, key) ? given[key] : undefined
  return typeof value === 'string' && value !== '' && value !== MASK ? value : undefined
}

function objectIn(given: JsonObject | undefined, key: string): JsonObject {
  const value = given !== undefined && Object.hasOwn(given, key) ? given[key] : undefined
  return jsonObject.safeParse(value).data ?? {}
}
