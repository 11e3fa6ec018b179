import { hash, randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { SecretBox } from '@parley/shared/sealed-value'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { HttpClient } from '../channels/http/http-client.ts'
import type { AuthorizationRecord } from '../store/access-token-record.ts'
import { type AccessTokens, sealedClient } from './access-tokens.ts'
import type { ActionCredentials } from './credentials.ts'
import { type AuthorizationServer, findAuthorizationServer } from './find-authorization-server.ts'
import { registerClient } from './register-client.ts'
import { type ConsentedClient, clientIn, isConsented, requestToken, TokenError } from './request-token.ts'

/** How long somebody may take to give consent, in milliseconds. */
const OPEN_MS = 10 * 60_000
const BYTES = 32
const MAX_SCOPE = 2_048

/** An action for which consent is asked. */
interface ConsentAction {
  workspace: number
  _id: number
  /** Where it calls, of a server that says itself where its tokens are given. */
  discoveredAt?: string | undefined
}

/** The account and session that ask for consent: somebody else's browser can't end it. */
interface Asker {
  account: number
  /** The login, or the API token. */
  session: string
}

/** The state that is sealed while a user gives consent. */
const sealedAuthorization = z.object({
  /** Hash of the client's settings: with other ones it is over. */
  of: z.string(),
  verifier: z.string(),
  redirectUri: z.string(),
  issuer: z.string().optional(),
  tokenUrl: z.string(),
  resource: z.string().optional(),
  registered: sealedClient.optional(),
})

/** Consent by the authorization code flow with PKCE (OAuth 2.1), which somebody begins and ends in one session. */
export interface Authorizations {
  /** Where a browser is to go, to come back to `redirectUri`. Rejects with {@link TokenError}. */
  begin(
    asked: { action: ConsentAction; credentials: ActionCredentials | undefined; redirectUri: string } & Asker,
  ): Promise<{ url: string; expiresAt: Date }>
  /**
   * The browser came back with these: from now on the action has access tokens. False where nothing of that state is under
   * way for who asks. Rejects with {@link TokenError}.
   */
  end(
    asked: {
      action: ConsentAction
      credentials: ActionCredentials | undefined
      state: string
      code: string
      issuer?: string | undefined
    } & Asker,
  ): Promise<boolean>
}

export function createAuthorizations(options: {
  http: Pick<HttpClient, 'send'>
  collection: mongo.Collection<AuthorizationRecord>
  tokens: Pick<AccessTokens, 'consented'>
  secrets: Pick<SecretBox, 'seal' | 'open'>
  now?: () => number
}): Authorizations {
  const { http, collection, tokens, secrets, now = Date.now } = options
  return {
    async begin({ action, credentials, redirectUri, account, session }) {
      const client = consentedIn(credentials)
      const server = await serverOf(http, client, action)
      const { authorizationUrl, registrationUrl, issuer, tokenUrl } = server
      const scope = client.scope ?? (server.scopes?.join(' ').slice(0, MAX_SCOPE) || undefined)
      const registered =
        client.clientId === undefined
          ? await registerClient(http, { registrationUrl: needed(registrationUrl), redirectUri, scope })
          : undefined
      const [state, verifier] = [`${action._id}.${secret()}`, secret()]
      const resource = client.resource ?? action.discoveredAt
      const { workspace, _id } = action
      const sealed = { of: ofClient(client), verifier, redirectUri, tokenUrl }
      const expiresAt = new Date(now() + OPEN_MS)
      const asker = { workspace, action: _id, account, session }
      // One at a time.
      await collection.deleteMany(asker)
      await collection.insertOne({
        _id: digest(state),
        ...asker,
        sealed: secrets.seal(
          JSON.stringify({ ...sealed, ...defined({ issuer, resource, registered }) }),
          workspace,
        ),
        expiresAt,
      })
      const url = new URL(authorizationUrl)
      const query = {
        response_type: 'code',
        client_id: registered?.clientId ?? client.clientId,
        redirect_uri: redirectUri,
        state,
        code_challenge: digest(verifier),
        code_challenge_method: 'S256',
        ...{ scope, resource, audience: client.audience },
      }
      for (const [name, value] of Object.entries(query))
        if (value !== undefined) url.searchParams.set(name, value)
      return { url: url.href, expiresAt }
    },
    async end({ action, credentials, state, code, issuer, account, session }) {
      const { workspace, _id } = action
      const asker = { workspace, action: _id, account, session }
      const found = await collection.findOneAndDelete({ _id: digest(state), ...asker })
      if (found === null || found.expiresAt.getTime() <= now()) return false
      const opened = jsonOrUndefined(String(secrets.open(found.sealed, workspace)))
      const { data: begun } = sealedAuthorization.safeParse(opened)
      const client = consentedIn(credentials)
      if (begun === undefined || begun.of !== ofClient(client)) return false
      // Another authorization server's code is not sent to this one (RFC 9207).
      if (issuer !== undefined && begun.issuer !== undefined && issuer !== begun.issuer)
        throw new TokenError('The consent is from another authorization server.', { isRefused: true })
      const { registered, resource, tokenUrl, verifier, redirectUri } = begun
      const { clientId = registered?.clientId ?? '', grant: _grant, ...others } = client
      const got = await requestToken(
        http,
        { ...others, clientId, tokenUrl, ...defined({ ...registered, resource }) },
        { kind: 'code', code, verifier, redirectUri },
      )
      if (credentials !== undefined)
        await tokens.consented(action, credentials, { tokenUrl, registered, tokens: got })
      return true
    },
  }
}

const secret = (): string => randomBytes(BYTES).toString('base64url')
const digest = (text: string): string => hash('sha256', text, 'base64url')
const ofClient = (client: ConsentedClient): string => digest(JSON.stringify(client))

function consentedIn(credentials: ActionCredentials | undefined): ConsentedClient {
  const client = clientIn(credentials?.value)
  if (typeof client === 'string') throw new TokenError(client, { isRefused: true })
  if (client === undefined || !isConsented(client))
    throw new TokenError(
      'The action has no config credentials with {"oauth": {"grant": "authorization_code"}}.',
      { isRefused: true },
    )
  return client
}

type ConsentServer = Partial<AuthorizationServer> & { tokenUrl: string; authorizationUrl: string }

/** Where its credentials say, or where the action's server says. */
async function serverOf(
  http: Pick<HttpClient, 'send'>,
  client: ConsentedClient,
  { discoveredAt }: ConsentAction,
): Promise<ConsentServer> {
  const { authorizationUrl, tokenUrl } = client
  if (authorizationUrl !== undefined && tokenUrl !== undefined) {
    if (![authorizationUrl, tokenUrl].every((url) => URL.canParse(url) && /^https?:/.test(url)))
      throw refusal('credentials.oauth: authorizationUrl and tokenUrl are no http(s) URLs.')
    return { authorizationUrl, tokenUrl }
  }
  if (discoveredAt === undefined)
    throw refusal('credentials.oauth: authorizationUrl and tokenUrl are missing.')
  const server = await findAuthorizationServer(http, discoveredAt)
  // The protocol refuses servers without it.
  if (!server.challengeMethods?.includes('S256'))
    throw refusal('The authorization server does not say that it checks PKCE (S256).')
  if (server.authorizationUrl === undefined)
    throw refusal('The authorization server does not say where consent is given.')
  return { ...server, authorizationUrl: server.authorizationUrl }
}

function needed(registrationUrl: string | undefined): string {
  if (registrationUrl === undefined)
    throw refusal('The authorization server registers no clients: credentials.oauth.clientId is missing.')
  return registrationUrl
}

const refusal = (reason: string): TokenError => new TokenError(reason, { isRefused: true })
