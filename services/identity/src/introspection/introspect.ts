import type { Caller, InternalVerifier } from '@parley/shared/internal-token'
import { jsonBody } from '@parley/shared/json-body'
import { covers } from '@parley/shared/permission/covers'
import { Problem } from '@parley/shared/problem'
import { unescapeKeys } from '@parley/shared/safe-keys'
import { requireService } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import { z } from 'zod'
import type { Account } from '../store/account.ts'
import type { ApiToken } from '../store/api-token.ts'
import type { Collections } from '../store/collections.ts'
import type { Role } from '../store/role.ts'
import { hasEnded } from '../store/session.ts'

const MAX_BODY_BYTES = 4_096

const question = z.union([
  z.strictObject({ account: z.number().int(), session: z.string() }),
  z.strictObject({ tokenHash: z.string() }),
])

/** `POST /internal/introspect`, for the gateway: whether a session or an API token is valid, and who is behind it. */
export function introspectRoute({
  collections,
  verifier,
}: {
  collections: Collections
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.post(
    '/internal/introspect',
    requireService(verifier, 'gateway'),
    jsonBody({ maxBytes: MAX_BODY_BYTES }),
    async (req, res) => {
      const confirmed = await confirm(collections, parse(question, req.body))
      const isActive = confirmed !== undefined && 'caller' in confirmed
      res.json({ active: isActive, ...confirmed })
    },
  )
  return router
}

/**
 * `GET /internal/callers/:account?token=`, for the dispatcher: an account, or one of its API tokens, as a caller in its
 * role of today; 404 once it is gone, has ended, or has less than the token.
 */
export function callerRoute({
  collections,
  verifier,
}: {
  collections: Collections
  verifier: InternalVerifier
}): Router {
  const router = Router({ caseSensitive: true })
  router.get('/internal/callers/:account', requireService(verifier, 'dispatcher'), async (req, res) => {
    const { account, token } = parse(named, { ...req.params, ...req.query })
    const caller =
      token === undefined
        ? await callerOfAccount(collections, account)
        : await callerOfToken(collections, account, token)
    if (caller === undefined) throw new Problem('not_found')
    res.json(caller)
  })
  return router
}

const named = z.object({ account: z.coerce.number().int(), token: z.coerce.number().int().optional() })

async function callerOfAccount(collections: Collections, _id: number): Promise<Caller | undefined> {
  const account = await collections.accounts.findOne({ _id })
  return account === null ? undefined : callerFor(collections, account, account.role)
}

async function callerOfToken(
  collections: Collections,
  account: number,
  _id: number,
): Promise<Caller | undefined> {
  const token = await collections.apiTokens.findOne({ _id, account })
  if (token === null || (token.expiresAt !== undefined && token.expiresAt <= new Date())) return undefined
  return (await callerOfGiven(collections, token))?.caller
}

function confirm(
  collections: Collections,
  asked: z.output<typeof question>,
): Promise<Confirmed | Ended | undefined> {
  return 'tokenHash' in asked
    ? confirmApiToken(collections, asked.tokenHash)
    : confirmSession(collections, asked)
}

/** A caller, and when what it came with ends, in milliseconds since 1970. */
interface Confirmed {
  caller: Caller
  expiresAt?: number
}

/** When an API token ended, in milliseconds since 1970. */
interface Ended {
  endedAt: number
}

/** The caller of a session that was neither revoked nor ran out, and whose account is still there. */
async function confirmSession(
  collections: Collections,
  asked: { account: number; session: string },
): Promise<Confirmed | undefined> {
  const [session, account] = await Promise.all([
    collections.sessions.findOne({ _id: asked.session }),
    collections.accounts.findOne({ _id: asked.account }),
  ])
  if (session === null || account === null || session.account !== account._id) return undefined
  if (hasEnded(session, Date.now())) return undefined
  const caller = await callerFor(collections, account, account.role)
  return caller && { caller: { ...caller, session: session._id } }
}

/**
 * The caller of an API token: the account that made it, in the token's own role. None once the account has less than
 * the token. Notes that it was used.
 */
async function confirmApiToken(
  collections: Collections,
  hash: string,
): Promise<Confirmed | Ended | undefined> {
  const lastUsedAt = new Date()
  const token = await collections.apiTokens.findOneAndUpdate({ hash }, { $set: { lastUsedAt } })
  if (token === null) return undefined
  if (token.expiresAt !== undefined && token.expiresAt <= lastUsedAt)
    return { endedAt: token.expiresAt.getTime() }
  const given = await callerOfGiven(collections, token)
  if (given === undefined) return undefined
  const end = token.expiresAt === undefined ? {} : { expiresAt: token.expiresAt.getTime() }
  return { ...given, ...end }
}

/** The account that made a token, in the token's role, for as long as it has all that it gave. */
async function callerOfGiven(
  collections: Collections,
  token: Pick<ApiToken, '_id' | 'account' | 'role'>,
): Promise<{ caller: Caller } | undefined> {
  const account = await collections.accounts.findOne({ _id: token.account })
  if (account === null || !(await mayStillGive(collections, account, token.role))) return undefined
  const caller = await callerFor(collections, account, token.role)
  return caller && { caller: { ...caller, token: token._id } }
}

/** Whether the account has all that a role has which it gave to a token. */
async function mayStillGive(collections: Collections, account: Account, given: number): Promise<boolean> {
  if (account.role === given) return true
  const roles: Role[] = await collections.roles.find({ _id: { $in: [account.role, given] } }).toArray()
  const own = roles.find(({ _id }) => _id === account.role)
  const role = roles.find(({ _id }) => _id === given)
  if (own === undefined || role === undefined) return false
  const owner = { ...account, workspace: { _id: account.workspace }, role: { _id: own._id, name: own.name } }
  return covers({ permissions: own.permissions, account: owner }, role.permissions)
}

/** The account as services get to know it: with its workspace, and the role at today's version. */
async function callerFor(
  collections: Collections,
  account: Account,
  roleId: number,
): Promise<Caller | undefined> {
  const [workspace, role] = await Promise.all([
    collections.workspaces.findOne({ _id: account.workspace }),
    collections.roles.findOne({ _id: roleId }),
  ])
  if (workspace === null || role === null) return undefined
  const { _id, username, name, profile, context } = account
  return {
    account: { _id, username, name, profile, context: unescapeKeys(context) },
    workspace: {
      _id: workspace._id,
      name: workspace.name,
      namespace: workspace.namespace,
      host: workspace.host,
    },
    role: { _id: role._id, name: role.name, version: role.version },
  }
}
