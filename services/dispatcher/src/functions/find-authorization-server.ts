import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import type { HttpClient } from '../channels/http/http-client.ts'
import { TokenError } from './request-token.ts'

const METADATA_MS = 5_000
const MAX_BYTES = 64 * 1024
const MAX_SCOPES = 100

const url = z
  .string()
  .max(2_048)
  .regex(/^https?:/)
const scopes = z.array(z.string().max(256)).max(MAX_SCOPES).optional().catch(undefined)

const resourceMetadata = z.object({
  resource: z.string().max(2_048).optional(),
  authorization_servers: z.array(z.string().max(2_048)).min(1).max(20),
  scopes_supported: scopes,
})
const serverMetadata = z.object({
  issuer: z.string(),
  token_endpoint: url,
  authorization_endpoint: url.optional(),
  registration_endpoint: url.optional(),
  code_challenge_methods_supported: z.array(z.string()).max(20).optional(),
})

/** Where consent and tokens for a server are asked for. */
export interface AuthorizationServer {
  issuer: string
  tokenUrl: string
  authorizationUrl?: string | undefined
  /** Where it takes clients that nobody told it of before (RFC 7591). */
  registrationUrl?: string | undefined
  /** How it lets the code be tied to who asked for it (RFC 7636); undefined where it does not say. */
  challengeMethods?: string[] | undefined
  /** The scopes that the server lists. */
  scopes?: string[] | undefined
}

/**
 * The authorization server of a server, by what that says itself (RFC 9728) and what its authorization server says
 * (RFC 8414), or by OpenID Connect's name of that. Rejects with {@link TokenError}.
 */
export async function findAuthorizationServer(
  http: Pick<HttpClient, 'send'>,
  serverUrl: string,
): Promise<AuthorizationServer> {
  const { origin, pathname } = new URL(serverUrl)
  const path = pathname === '/' ? '' : pathname
  const metadata = await firstOf(http, resourceMetadata, [
    `${origin}/.well-known/oauth-protected-resource${path}`,
    `${origin}/.well-known/oauth-protected-resource`,
  ])
  // A server of the protocol before names none: it is its own.
  const issuer = metadata?.authorization_servers[0] ?? origin
  const found = URL.canParse(issuer)
    ? await firstOf(http, serverMetadata, metadataUrls(new URL(issuer)), (one) =>
        isIssuer(one.issuer, issuer),
      )
    : undefined
  if (found === undefined)
    throw new TokenError(
      'The server does not say where its tokens are given: credentials.oauth.tokenUrl is missing.',
      { isRefused: true },
    )
  return {
    issuer: found.issuer,
    tokenUrl: found.token_endpoint,
    authorizationUrl: found.authorization_endpoint,
    registrationUrl: found.registration_endpoint,
    challengeMethods: found.code_challenge_methods_supported,
    scopes: metadata?.scopes_supported,
  }
}

/** A metadata document of another issuer is not its own (RFC 8414, 3.3). */
const isIssuer = (said: string, issuer: string): boolean =>
  said.replace(/\/$/, '') === issuer.replace(/\/$/, '')

function metadataUrls({ origin, pathname }: URL): string[] {
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ]
}

/** The first document that is there and fits. */
async function firstOf<T>(
  http: Pick<HttpClient, 'send'>,
  schema: z.ZodType<T>,
  urls: readonly string[],
  fits: (one: T) => boolean = () => true,
): Promise<T | undefined> {
  for (const url of urls) {
    const limits = { timeoutMs: METADATA_MS, maxBytes: MAX_BYTES }
    const answer = await http.send({ method: 'GET', url, headers: {}, ...limits }).catch(() => undefined)
    if (answer === undefined || answer.status !== 200) continue
    const { data } = schema.safeParse(jsonOrUndefined(answer.body))
    if (data !== undefined && fits(data)) return data
  }
  return undefined
}
