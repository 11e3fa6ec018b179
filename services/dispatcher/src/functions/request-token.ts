import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { MASK } from '@parley/shared/secret-names'
import { z } from 'zod'
import { outcomeOfFailure } from '../channels/http/call-outcome.ts'
import type { Call, HttpClient } from '../channels/http/http-client.ts'
import { redacted } from './credentials.ts'

/** The longest one request for a token may take, in milliseconds. */
const TOKEN_MS = 10_000
const MAX_BYTES = 64 * 1024
const MAX_REASON = 300
/** Where the server does not say how long its token is valid, in seconds. */
const USUAL_SECONDS = 300
const MAX_SECONDS = 7 * 24 * 60 * 60

const text = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value !== MASK)

const common = {
  clientSecret: text(4_096).optional(),
  tokenUrl: text(2_048).optional(),
  scope: text(2_048).optional(),
  audience: text(2_048).optional(),
  resource: text(2_048).optional(),
  /** How the client says who it is: by HTTP basic, unless said otherwise, or in the body. */
  authentication: z.enum(['basic', 'body']).optional(),
}

/** The OAuth 2 credentials of an action: those of a client, or with a `refreshToken` of a user who gave consent. */
const oauthClient = z.object({
  clientId: text(1_024),
  refreshToken: text(8_192).optional(),
  grant: z.literal('client_credentials').optional(),
  ...common,
})
export type OAuthClient = z.output<typeof oauthClient>

/** The same where somebody has to give consent; without a client, one is registered at the authorization server. */
const consentedClient = z.object({
  grant: z.literal('authorization_code'),
  clientId: text(1_024).optional(),
  authorizationUrl: text(2_048).optional(),
  ...common,
})
export type ConsentedClient = z.output<typeof consentedClient>

/** The client among credentials, where they have one; a reason where it can't be worked with. */
export function clientIn(
  credentials: JsonObject | undefined,
): OAuthClient | ConsentedClient | string | undefined {
  const inner = jsonObject.safeParse(credentials?.credentials).data
  const given = inner?.oauth ?? credentials?.oauth
  if (given === undefined) return undefined
  const isConsented = jsonObject.safeParse(given).data?.grant === 'authorization_code'
  const { data, error } = isConsented ? consentedClient.safeParse(given) : oauthClient.safeParse(given)
  return (
    data ?? `credentials.oauth: ${error?.issues[0]?.path.join('.') || 'it'} is missing, too long or no text.`
  )
}

/** True if a user has to give consent before the client gets a token. */
export const isConsented = (client: OAuthClient | ConsentedClient): client is ConsentedClient =>
  client.grant === 'authorization_code'

/** The credentials without the client: a security scheme may have its name. */
export function withoutClient({ oauth: _client, credentials, ...others }: JsonObject): JsonObject {
  const { oauth: _inner, ...inner } = jsonObject.safeParse(credentials).data ?? {}
  return { ...others, credentials: inner }
}

export interface Tokens {
  accessToken: string
  /** The next one, where the server gives another. */
  refreshToken?: string | undefined
  /** For how long, in seconds. */
  validFor: number
}

/** Why there is no access token. It never says what is secret. */
export class TokenError extends Error {
  /** The authorization server refused: asked again it says the same, until something is changed. */
  readonly isRefused: boolean

  constructor(reason: string, { isRefused }: { isRefused: boolean }) {
    super(reason)
    this.isRefused = isRefused
  }
}

const tokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  token_type: z.string().optional(),
  expires_in: z.coerce.number().positive().optional(),
  refresh_token: z.string().min(1).max(8_192).optional(),
})

/** The grant that a client presents for a token besides its own name: none, or one from a user's consent. */
type Grant =
  | { kind: 'client' }
  | { kind: 'refresh'; refreshToken: string }
  | { kind: 'code'; code: string; verifier: string; redirectUri: string }

/** Asks for an access token (RFC 6749, 4.1.3, 4.4 and 6; RFC 7636; RFC 8707). Rejects with {@link TokenError}. */
export async function requestToken(
  http: Pick<HttpClient, 'send'>,
  client: Omit<OAuthClient, 'grant' | 'refreshToken'> & { tokenUrl: string },
  grant: Grant,
): Promise<Tokens> {
  const fields = fieldsOf(grant)
  const secrets = [client.clientSecret, fields.refresh_token, fields.code, fields.code_verifier].filter(
    (one) => one !== undefined,
  )
  const { status, body } = await http
    .send({ ...requestOf(client, fields), timeoutMs: TOKEN_MS, maxBytes: MAX_BYTES })
    .catch((error) => {
      const { kind, reason } = outcomeOfFailure(error)
      throw new TokenError(`The authorization server: ${reason}`, { isRefused: kind === 'permanent' })
    })
  const answer = jsonOrUndefined(body)
  if (status < 200 || status >= 300) {
    const isRefused = status < 500 && status !== 408 && status !== 429
    throw new TokenError(redacted(refusalOf(status, answer), secrets), { isRefused })
  }
  const { data } = tokenResponse.safeParse(answer)
  if (data === undefined)
    throw new TokenError('The authorization server answered without an access token.', { isRefused: true })
  if (data.token_type !== undefined && data.token_type.toLowerCase() !== 'bearer')
    throw new TokenError('The authorization server gives no bearer token.', { isRefused: true })
  const validFor = Math.min(data.expires_in ?? USUAL_SECONDS, MAX_SECONDS)
  return { accessToken: data.access_token, refreshToken: data.refresh_token, validFor }
}

function fieldsOf(grant: Grant): Record<string, string> {
  if (grant.kind === 'client') return { grant_type: 'client_credentials' }
  if (grant.kind === 'refresh') return { grant_type: 'refresh_token', refresh_token: grant.refreshToken }
  const { code, verifier, redirectUri } = grant
  return { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri }
}

function requestOf(
  client: Parameters<typeof requestToken>[1],
  grant: Record<string, string>,
): Omit<Call, 'timeoutMs' | 'maxBytes'> {
  const { clientId, clientSecret, tokenUrl, scope, audience, resource, authentication = 'basic' } = client
  const isBasic = clientSecret !== undefined && authentication === 'basic'
  // The scope of a code was asked for with it.
  const asked = grant.code === undefined ? { scope, audience, resource } : { audience, resource }
  const fields = {
    ...grant,
    ...asked,
    ...(isBasic ? {} : { client_id: clientId, client_secret: clientSecret }),
  }
  const form = new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
  const headers: Record<string, string> = {
    'content-type': 'application/x-www-form-urlencoded',
    accept: 'application/json',
  }
  // Both are encoded as in a form before they are joined (RFC 6749, 2.3.1).
  if (isBasic) headers.authorization = `Basic ${btoa([clientId, clientSecret].map(formEncoded).join(':'))}`
  return { method: 'POST', url: tokenUrl, headers, body: form.toString() }
}

const formEncoded = (value: string): string => new URLSearchParams({ '': value }).toString().slice(1)

/** The error as RFC 6749, 5.2 has it. */
function refusalOf(status: number, answer: unknown): string {
  const { error, error_description: description } = jsonObject.safeParse(answer).data ?? {}
  const said = [error, description].filter((one) => typeof one === 'string').join(': ')
  const shown = said.slice(0, MAX_REASON).toWellFormed()
  return `The authorization server refused with HTTP ${status}${shown === '' ? '' : ` (${shown})`}.`
}
