import { jsonOrUndefined } from '@parley/shared/parse-json'
import { z } from 'zod'
import { outcomeOfFailure } from '../channels/http/call-outcome.ts'
import type { HttpClient } from '../channels/http/http-client.ts'
import type { RegisteredClient } from './access-tokens.ts'
import { TokenError } from './request-token.ts'

const REGISTER_MS = 10_000
const MAX_BYTES = 64 * 1024

const registration = z.object({
  client_id: z.string().min(1).max(1_024),
  client_secret: z.string().min(1).max(4_096).optional(),
  token_endpoint_auth_method: z.string().optional(),
})

/** Makes us known to an authorization server that takes any client (RFC 7591). Rejects with {@link TokenError}. */
export async function registerClient(
  http: Pick<HttpClient, 'send'>,
  {
    registrationUrl,
    redirectUri,
    scope,
  }: { registrationUrl: string; redirectUri: string; scope?: string | undefined },
): Promise<RegisteredClient> {
  const body = JSON.stringify({
    client_name: 'Parley',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    scope,
  })
  const { status, body: text } = await http
    .send({
      ...{ method: 'POST', url: registrationUrl, body, timeoutMs: REGISTER_MS, maxBytes: MAX_BYTES },
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    })
    .catch((error) => {
      throw new TokenError(`The authorization server: ${outcomeOfFailure(error).reason}`, {
        isRefused: false,
      })
    })
  const { data } = registration.safeParse(jsonOrUndefined(text))
  if (status < 200 || status >= 300 || data === undefined)
    throw new TokenError(
      `The authorization server registers no client (HTTP ${status}): give credentials.oauth.clientId.`,
      { isRefused: true },
    )
  const { client_id: clientId, client_secret: clientSecret, token_endpoint_auth_method: method } = data
  const authentication = method === 'client_secret_post' ? 'body' : 'basic'
  return { clientId, ...(clientSecret !== undefined && { clientSecret, authentication }) }
}
