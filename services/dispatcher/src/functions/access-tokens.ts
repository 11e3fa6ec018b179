import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@parley/shared/defined'
import { createLeases } from '@parley/shared/lease'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { SecretBox } from '@parley/shared/sealed-value'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { reasonToWithhold } from '../channels/http/bound-credentials.ts'
import type { HttpClient } from '../channels/http/http-client.ts'
import type { AccessTokenRecord } from '../store/access-token-record.ts'
import type { ActionCredentials } from './credentials.ts'
import { findAuthorizationServer } from './find-authorization-server.ts'
import {
  type ConsentedClient,
  clientIn,
  isConsented,
  type OAuthClient,
  requestToken,
  TokenError,
  type Tokens,
  withoutClient,
} from './request-token.ts'

/** Longer than finding out where tokens are given and asking for one, in milliseconds. */
const LEASE_MS = 60_000
const WAIT_MS = 10_000
const POLL_MS = 100
/** So long before its end a token is not used any more. */
const MARGIN_MS = 30_000
/** A refusal is not asked for again for so long. */
const REFUSED_FOR_MS = 60_000
const RETENTION_MS = 90 * 24 * 60 * 60 * 1_000
const MAX_KNOWN = 5_000

type Action = { workspace: number; _id: number }

/** Where the access token of an action's credentials goes. */
interface TokenTarget {
  url: string
  /** True if the server at the URL itself tells where its tokens are issued. */
  isDiscovered?: boolean
}

/** Access tokens of OAuth 2 for actions whose credentials name a client. */
export interface AccessTokens {
  /**
   * The credentials with an access token as `token`, where they name a client; as they are, where they don't. Rejects
   * with {@link TokenError}, and with `unavailable`.
   */
  filled(
    action: Action,
    credentials: ActionCredentials | undefined,
    target: TokenTarget,
  ): Promise<ActionCredentials | undefined>
  /** The server refused the access token that these credentials have: another one is asked for next time. */
  refused(filled: ActionCredentials | undefined): void
  /** Somebody gave consent: from now on the credentials of the action are filled with these. Rejects with `unavailable`. */
  consented(
    action: Action,
    credentials: ActionCredentials,
    given: { tokenUrl: string; registered?: RegisteredClient | undefined; tokens: Tokens },
  ): Promise<void>
}

/** A client that an authorization server made for us (RFC 7591). */
export interface RegisteredClient {
  clientId: string
  clientSecret?: string | undefined
  authentication?: 'basic' | 'body' | undefined
}

/** Tells the workspace what became of asking for the tokens of an action: why it was refused, or that it works again. */
export type ReportTokens = (action: Action, refusal: string | undefined) => void

/** A client that an authorization server has registered, as it is sealed. */
export const sealedClient = z.object({
  clientId: z.string(),
  clientSecret: z.string().optional(),
  authentication: z.enum(['basic', 'body']).optional(),
})

/** The part of an action's tokens that is sealed. */
const sealedTokens = z.object({
  /** Names the credentials that they are for: others have other tokens. */
  of: z.string(),
  tokenUrl: z.string(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
  registered: sealedClient.optional(),
})
type Sealed = z.output<typeof sealedTokens>

type Known = { accessToken: string; until: number } | { error: TokenError; until: number }

/**
 * Tokens are asked for once, whatever the number of instances: by the one that has the lease of the action's record,
 * where they are sealed. A refresh token that the server changed is stored before the access token is used.
 */
export function createAccessTokens(options: {
  http: Pick<HttpClient, 'send'>
  collection: mongo.Collection<AccessTokenRecord>
  secrets: Pick<SecretBox, 'seal' | 'open'>
  instance: string
  report: ReportTokens
  /** In milliseconds since the epoch. */
  now?: () => number
}): AccessTokens {
  const { http, collection, secrets, instance, report, now = Date.now } = options
  const leases = createLeases({ collection: () => collection, owner: instance, leaseMs: LEASE_MS })
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN })
  const underway = new Map<string, Promise<Known>>()
  /** Tokens that a server refused before their end. */
  const spoilt = new LRUCache<string, true>({ max: MAX_KNOWN })

  const usable = (found: Known | undefined): Known | undefined =>
    found && found.until > now() && !('accessToken' in found && spoilt.has(found.accessToken))
      ? found
      : undefined
  const stored = async ({
    id,
    of,
    workspace,
  }: Asked): Promise<{ sealed?: Sealed; text?: string | undefined; known?: Known }> => {
    const record = await collection.findOne({ _id: id })
    const opened = record?.sealed === undefined ? undefined : secrets.open(record.sealed, workspace)
    const { data: sealed } = sealedTokens.safeParse(jsonOrUndefined(String(opened)))
    const text = record?.sealed
    if (sealed?.of !== of) return { text }
    const until = (record?.validUntil?.getTime() ?? 0) - MARGIN_MS
    return { sealed, text, ...defined({ known: usable({ accessToken: sealed.accessToken, until }) }) }
  }
  const write = async (
    { id, workspace }: Pick<Asked, 'id' | 'workspace'>,
    sealed: Sealed,
    { validFor, over }: { validFor: number; over: mongo.Filter<AccessTokenRecord> | undefined },
  ): Promise<Known> => {
    const validUntil = now() + validFor * 1_000
    await collection.updateOne(
      { _id: id, ...over },
      {
        $set: {
          sealed: secrets.seal(JSON.stringify(sealed), workspace),
          validUntil: new Date(validUntil),
          removedAt: new Date(validUntil + RETENTION_MS),
        },
      },
      { upsert: over === undefined },
    )
    return { accessToken: sealed.accessToken, until: Math.max(validUntil - MARGIN_MS, now() + 1_000) }
  }
  const renew = async (asked: Asked): Promise<Known> => {
    const { sealed: before, text, known: already } = await stored(asked)
    if (already !== undefined) return already
    const { client, tokenUrl, refreshToken: current, ...more } = await clientOf(http, asked, before)
    const tokens = await requestToken(
      http,
      { ...client, tokenUrl },
      current === undefined ? { kind: 'client' } : { kind: 'refresh', refreshToken: current },
    )
    const { accessToken, refreshToken = current, validFor } = tokens
    const sealed: Sealed = { of: asked.of, tokenUrl, accessToken, ...defined({ refreshToken }), ...more }
    // Somebody may have given consent anew meanwhile.
    const over = { owner: instance, sealed: text ?? { $exists: false } } as mongo.Filter<AccessTokenRecord>
    return write(asked, sealed, { validFor, over })
  }
  const asOne = async (asked: Asked): Promise<Known> => {
    const deadline = performance.now() + WAIT_MS
    for (;;) {
      const { known: already } = await stored(asked)
      if (already !== undefined) return already
      if (await leases.acquire(asked.id)) {
        try {
          return await renew(asked)
        } finally {
          await leases.release(asked.id)
        }
      }
      if (performance.now() > deadline)
        throw new TokenError('Another instance asks for the access token.', { isRefused: false })
      await pause(POLL_MS)
    }
  }
  const found = async (asked: Asked): Promise<Known> => {
    try {
      const got = await asOne(asked)
      if (asked.wasRefused) report(asked.action, undefined)
      return got
    } catch (error) {
      if (!(error instanceof TokenError)) throw error
      if (error.isRefused) report(asked.action, error.message)
      // Consent may be given at any time, and nobody was asked for what has none.
      const isFinal = error.isRefused && !(error instanceof ConsentNeeded)
      return { error, until: isFinal ? now() + REFUSED_FOR_MS : 0 }
    }
  }
  const tokenOf = async (asked: Asked): Promise<string> => {
    const key = `${asked.id} ${asked.of}`
    const before = known.get(key)
    const wasRefused = before === undefined || 'error' in before
    const promise =
      usable(before) ??
      underway.get(key) ??
      found({ ...asked, wasRefused }).finally(() => underway.delete(key))
    if (promise instanceof Promise) underway.set(key, promise)
    const got = await promise
    known.set(key, got)
    if ('error' in got) throw got.error
    return got.accessToken
  }
  return {
    async filled(action, credentials, target) {
      const client = clientIn(credentials?.value)
      if (credentials === undefined || client === undefined) return credentials
      if (typeof client === 'string') throw new TokenError(client, { isRefused: true })
      const { workspace } = action
      const resource = client.resource ?? (target.isDiscovered ? target.url : undefined)
      const asked = {
        ...{ action, target, workspace, wasRefused: false },
        id: idOf(action),
        of: isConsented(client)
          ? ofConsent(client, credentials)
          : hash('sha256', JSON.stringify([client, target.url]), 'base64url'),
        client: resource === undefined ? client : { ...client, resource },
      }
      return { ...credentials, value: { ...withoutClient(credentials.value), token: await tokenOf(asked) } }
    },
    refused(filled) {
      const token = filled?.value.token
      if (typeof token === 'string') spoilt.set(token, true)
    },
    async consented(action, credentials, { tokenUrl, registered, tokens }) {
      const client = clientIn(credentials.value)
      if (client === undefined || typeof client === 'string' || !isConsented(client)) return
      const of = ofConsent(client, credentials)
      const id = idOf(action)
      const { accessToken, refreshToken, validFor } = tokens
      const sealed: Sealed = { of, tokenUrl, accessToken, ...defined({ refreshToken, registered }) }
      const { workspace } = action
      known.set(`${id} ${of}`, await write({ id, workspace }, sealed, { validFor, over: undefined }))
      report(action, undefined)
    },
  }
}

/** One request for the access token of an action. */
interface Asked {
  id: string
  of: string
  action: Action
  workspace: number
  client: OAuthClient | ConsentedClient
  target: TokenTarget
  /** True if the workspace may have been told that it does not work. */
  wasRefused: boolean
}

const idOf = ({ workspace, _id }: Action): string => `${workspace}/${_id}`

/** Returns the hash of what consent covers: other credentials, or the same for another server, need it anew. */
const ofConsent = (client: ConsentedClient, { origins }: ActionCredentials): string =>
  hash('sha256', JSON.stringify([client, origins?.toSorted()]), 'base64url')

/** Nobody has let the client in, or not for longer. */
class ConsentNeeded extends TokenError {
  constructor(why: string) {
    super(`${why}: connect the action (POST /rest/actions/{id}/connect, or in the console).`, {
      isRefused: true,
    })
  }
}

interface KnownClient {
  client: OAuthClient
  tokenUrl: string
  refreshToken?: string | undefined
  registered?: RegisteredClient
}

/** Returns the client that asks for tokens, its token URL, and its consent as a refresh token. */
async function clientOf(
  http: Pick<HttpClient, 'send'>,
  asked: Asked,
  before: Sealed | undefined,
): Promise<KnownClient> {
  const { client } = asked
  if (!isConsented(client)) {
    const tokenUrl = await tokenUrlOf(http, { ...asked, client }, before?.tokenUrl)
    return { client, tokenUrl, refreshToken: before?.refreshToken ?? client.refreshToken }
  }
  if (before === undefined) throw new ConsentNeeded('Nobody has given consent yet')
  const { tokenUrl, refreshToken, registered } = before
  const { clientId = registered?.clientId, grant: _grant, ...others } = client
  if (refreshToken === undefined || clientId === undefined) throw new ConsentNeeded('The consent has ended')
  return {
    client: { ...others, clientId, ...defined({ ...registered }) },
    tokenUrl,
    refreshToken,
    ...defined({ registered }),
  }
}

/**
 * Where the client's secret goes: where its credentials say, or where the action's server says, which is remembered: that
 * another authorization server is named later takes credentials that are stored again.
 */
async function tokenUrlOf(
  http: Pick<HttpClient, 'send'>,
  { client, target, action }: Pick<Asked, 'target' | 'action'> & { client: OAuthClient },
  earlier: string | undefined,
): Promise<string> {
  if (client.tokenUrl !== undefined) return client.tokenUrl
  if (!target.isDiscovered)
    throw new TokenError('credentials.oauth.tokenUrl is missing.', { isRefused: true })
  const { tokenUrl: said } = await findAuthorizationServer(http, target.url)
  const withheld = reasonToWithhold(
    `The client of action ${action._id}`,
    earlier === undefined ? undefined : [new URL(earlier).origin],
    said,
  )
  if (withheld !== undefined) throw new TokenError(withheld, { isRefused: true })
  return said
}
