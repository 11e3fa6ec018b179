import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import { type RequestHandler, Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireFound, requireSelected, scopeOf } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayGive, requireMayManage } from '../access/privileges.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireRecentPassword, requireStillValid } from '../password-change/recent-password.ts'
import { page, pathId } from '../requests.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { type ApiToken, apiTokenView, newApiSecret } from '../store/api-token.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import { takeIds } from '../store/ids.ts'

const DAY_MS = 86_400_000
const MAX_DAYS = 3_650
/** Of a workspace, that are neither revoked nor expired. Those that it has beyond stay valid. */
const MAX_TOKENS = 100

/** What a new token takes. */
export const newApiToken = z.strictObject({
  name: label,
  role: roleReference,
  expiresInDays: z.number().int().min(1).max(MAX_DAYS).nullish(),
  currentPassword: z.string().nullish(),
})

/**
 * `POST /api/auth/tokens`: the only response that ever contains the token. It takes a login within the last ten
 * minutes or the password, and a token that is made with a token ends with it at the latest. Throws `too_many_tokens`
 * where the workspace has 100.
 */
function createApiToken(administration: Administration): RequestHandler {
  const { connection, collections, authorizer } = administration
  return async (req, res) => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'tokens', 'write')
    const { name, role, expiresInDays, currentPassword } = parse(newApiToken, req.body)
    const given = await findRole(collections, caller, role)
    await requireMayGive(administration, caller, given, caller.account)
    const proven = await requireRecentPassword(administration, { req, caller, password: currentPassword })
    const { token, hash } = newApiSecret()
    const record = await newRecord(administration, caller, { name, hash, role: given._id, expiresInDays })
    requireSelected(decision, record)
    await inTransaction(connection, async (transaction) => {
      await requireStillValid(collections, transaction, { caller, proven })
      await giveRole(collections, transaction, given._id)
      await requireRoomForToken(collections, transaction, caller.workspace._id)
      await collections.apiTokens.insertOne(record, { session: transaction })
      await audit(collections, transaction, caller, {
        action: 'create',
        resource: 'tokens',
        document: record._id,
        details: { name, role: given._id },
      })
    })
    res.set('cache-control', 'no-store').json({ ...apiTokenView(record), token })
  }
}

/** Two that are made at once conflict, and the second one counts the first. */
async function requireRoomForToken(
  { workspaces, apiTokens }: Pick<Administration['collections'], 'workspaces' | 'apiTokens'>,
  session: mongo.ClientSession,
  workspace: number,
): Promise<void> {
  await workspaces.updateOne({ _id: workspace }, { $inc: { tokensMade: 1 } }, { session })
  const living = { $or: [{ expiresAt: { $exists: false } }, { expiresAt: { $gt: new Date() } }] }
  const options = { session, limit: MAX_TOKENS }
  const count = await apiTokens.countDocuments({ workspace, ...living }, options)
  if (count >= MAX_TOKENS) throw new Problem('too_many_tokens')
}

async function newRecord(
  { collections }: Pick<Administration, 'collections'>,
  caller: Caller,
  {
    expiresInDays,
    ...fields
  }: Pick<ApiToken, 'name' | 'hash' | 'role'> & { expiresInDays: number | null | undefined },
): Promise<ApiToken> {
  const { tokens } = await takeIds({ counters: collections.counters, from: 'ids', amounts: { tokens: 1 } })
  const createdAt = new Date()
  const ends = await endsOf(collections, caller, createdAt, expiresInDays)
  return {
    _id: tokens,
    workspace: caller.workspace._id,
    account: caller.account._id,
    ...fields,
    createdAt,
    ...defined({ expiresAt: ends }),
  }
}

/** When a new token ends: when it is asked to, and never after the token that it is made with. */
async function endsOf(
  collections: Pick<Administration['collections'], 'apiTokens'>,
  caller: Caller,
  createdAt: Date,
  days: number | null | undefined,
): Promise<Date | undefined> {
  const asked = days == null ? undefined : new Date(createdAt.getTime() + days * DAY_MS)
  const maker =
    caller.token === undefined ? undefined : await collections.apiTokens.findOne({ _id: caller.token })
  const latest = maker?.expiresAt
  return asked === undefined || (latest !== undefined && latest < asked) ? latest : asked
}

/** `/api/auth/tokens`: long-lived tokens of the caller's workspace. */
export function apiTokenRoutes(administration: Administration, body: RequestHandler): Router {
  const { collections, authorizer } = administration
  const router = Router({ caseSensitive: true })
  router
    .route('/api/auth/tokens')
    .post(body, createApiToken(administration))
    .get(async (req, res) => {
      const caller = callerOf(res)
      const filter = scopeOf(caller, await authorizer.require(caller, 'tokens', 'read'))
      res.json(await page({ req, collection: collections.apiTokens, filter, view: apiTokenView }))
    })
    .all(methodNotAllowed('GET', 'POST'))
  router.route('/api/auth/tokens/:id').delete(revokeApiToken(administration)).all(methodNotAllowed('DELETE'))
  return router
}

/** Ends a token, and the invitations that were made with it: it stops working in under 2 s. */
function revokeApiToken({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const { document: token, writable } = await findWritable({
      authorizer,
      caller,
      resource: 'tokens',
      collection: collections.apiTokens,
      id: pathId(req),
    })
    const maker = await collections.accounts.findOne({ _id: token.account })
    if (maker !== null && maker._id !== caller.account._id)
      await requireMayManage(collections, caller, token.role, seenByRules(maker))
    await inTransaction(connection, async (transaction) => {
      const { deletedCount } = await collections.apiTokens.deleteOne(writable, { session: transaction })
      requireFound(deletedCount)
      const given = { account: token.account, token: token._id }
      await collections.invitations.deleteMany(given, { session: transaction })
      await announce(collections.changes, transaction, { kind: 'token', key: String(token._id) })
      await audit(collections, transaction, caller, {
        action: 'delete',
        resource: 'tokens',
        document: token._id,
        details: { name: token.name, role: token.role },
      })
    })
    res.json({ _id: token._id, deleted: true })
  }
}
