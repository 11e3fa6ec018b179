import { hash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { defined } from '@parley/shared/defined'
import { createLeases } from '@parley/shared/lease'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { SecretBox } from '@parley/shared/sealed-value'
import { LRUCache } from 'lru-cache'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { AccessTokenRecord } from '../../store/access-token-record.ts'
import { reasonToWithhold } from '../http/bound-credentials.ts'
import type { HttpClient } from '../http/http-client.ts'
import type { ActionCredentials } from './credentials.ts'
import { findTokenUrl } from './find-token-url.ts'
import { clientIn, type OAuthClient, requestToken, TokenError, withoutClient } from './request-token.ts'

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
  /** Whether the server there says itself where its tokens are given. */
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
}

/** Tells the workspace what became of asking for the tokens of an action: why it was refused, or that it works again. */
export type ReportTokens = (action: Action, refusal: string | undefined) => void

/** What is sealed of an action's tokens. */
const sealedTokens = z.object({
  /** Names the credentials that they are for: others have other tokens. */
  of: z.string(),
  tokenUrl: z.string(),
  accessToken: z.string(),
  refreshToken: z.string().optional(),
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
  const stored = async ({ id, of, workspace }: Asked): Promise<{ sealed?: Sealed; known?: Known }> => {
    const record = await collection.findOne({ _id: id })
    const opened = record?.sealed === undefined ? undefined : secrets.open(record.sealed, workspace)
    const { data: sealed } = sealedTokens.safeParse(jsonOrUndefined(String(opened)))
    if (sealed?.of !== of) return {}
    const until = (record?.validUntil?.getTime() ?? 0) - MARGIN_MS
    return { sealed, ...defined({ known: usable({ accessToken: sealed.accessToken, until }) }) }
  }
  const renew = async (asked: Asked): Promise<Known> => {
    const { sealed: before, known: already } = await stored(asked)
    if (already !== undefined) return already
    const tokenUrl = await tokenUrlOf(http, asked, before?.tokenUrl)
    const current = before?.refreshToken ?? asked.client.refreshToken
    const tokens = await requestToken(http, { ...asked.client, tokenUrl }, current)
    const { accessToken, refreshToken = current } = tokens
    const sealed: Sealed = { of: asked.of, tokenUrl, accessToken, ...defined({ refreshToken }) }
    const validUntil = now() + tokens.validFor * 1_000
    await collection.updateOne(
      { _id: asked.id, owner: instance },
      {
        $set: {
          sealed: secrets.seal(JSON.stringify(sealed), asked.workspace),
          validUntil: new Date(validUntil),
          removedAt: new Date(validUntil + RETENTION_MS),
        },
      },
    )
    return { accessToken, until: Math.max(validUntil - MARGIN_MS, now() + 1_000) }
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
      return { error, until: error.isRefused ? now() + REFUSED_FOR_MS : 0 }
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
      const { workspace, _id } = action
      const resource = client.resource ?? (target.isDiscovered ? target.url : undefined)
      const asked = {
        ...{ action, target, workspace, wasRefused: false },
        id: `${workspace}/${_id}`,
        of: hash('sha256', JSON.stringify([client, target.url]), 'base64url'),
        client: resource === undefined ? client : { ...client, resource },
      }
      return { ...credentials, value: { ...withoutClient(credentials.value), token: await tokenOf(asked) } }
    },
    refused(filled) {
      const token = filled?.value.token
      if (typeof token === 'string') spoilt.set(token, true)
    },
  }
}

/** One request for the access token of an action. */
interface Asked {
  id: string
  of: string
  action: Action
  workspace: number
  client: OAuthClient
  target: TokenTarget
  /** Whether the workspace may have been told that it does not work. */
  wasRefused: boolean
}

/**
 * Where the client's secret goes: where its credentials say, or where the action's server says, which is remembered: that
 * another authorization server is named later takes credentials that are stored again.
 */
async function tokenUrlOf(
  http: Pick<HttpClient, 'send'>,
  { client, target, action }: Asked,
  earlier: string | undefined,
): Promise<string> {
  if (client.tokenUrl !== undefined) return client.tokenUrl
  if (!target.isDiscovered)
    throw new TokenError('credentials.oauth.tokenUrl is missing.', { isRefused: true })
  const said = await findTokenUrl(http, target.url)
  const withheld = reasonToWithhold(
    `The client of action ${action._id}`,
    earlier === undefined ? undefined : [new URL(earlier).origin],
    said,
  )
  if (withheld !== undefined) throw new TokenError(withheld, { isRefused: true })
  return said
}
