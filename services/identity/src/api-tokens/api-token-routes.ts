import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { requireSelected } from '../access/authorizer.ts'
import { seenByRules } from '../access/caller-of-today.ts'
import { requireMayGive, requireMayManage } from '../access/privileges.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireRecentPassword } from '../password-change/recent-password.ts'
import { deleteRoute, listRoute, type Resource, storeNew } from '../resource-routes.ts'
import { findRole, giveRole, roleReference } from '../roles/find-role.ts'
import { AT, AUTH_BODY_BYTES, id, NO_STORE, time } from '../schemas.ts'
import { type ApiToken, apiTokenView, newApiSecret } from '../store/api-token.ts'
import { actorOf } from '../store/audit.ts'
import { takeIds } from '../store/ids.ts'

const DAY_MS = 86_400_000
const MAX_DAYS = 3_650
/** Of a workspace, that are neither revoked nor expired. Those that it has beyond stay valid. */
const MAX_TOKENS = 100

const token = z
  .object({
    _id: id,
    name: z.string(),
    role: id,
    account: id.describe('Who made it; it ends with that account'),
    createdAt: time,
    expiresAt: time.nullable(),
    lastUsedAt: time.nullable().describe('To the minute'),
  })
  .meta({ id: 'ApiToken', description: 'A long-lived token, without its secret' })

const example = {
  _id: 1,
  name: 'Provider',
  role: 4,
  account: 1,
  createdAt: AT,
  expiresAt: '2027-11-20T11:36:37.235Z',
  lastUsedAt: null,
}

const tokens: Resource<ApiToken> = {
  name: 'tokens',
  path: '/api/auth/tokens',
  tag: 'tokens',
  title: 'ApiToken',
  schema: token,
  example,
  view: apiTokenView,
  collection: ({ apiTokens }) => apiTokens,
}

/**
 * The only response that ever contains the token. A token that is made with a token ends with it at the latest. Throws
 * `too_many_tokens` where the workspace has 100.
 */
const createApiToken = route({
  method: 'POST',
  path: tokens.path,
  access: 'write',
  resource: 'tokens',
  id: 'createApiToken',
  tag: tokens.tag,
  summary: 'Make an API token',
  description:
    'It takes a login within the last ten minutes, or `currentPassword`. A role other than one’s own takes one that may write `roles` and has all that it has. A workspace may have 100 that are neither revoked nor expired.',
  body: {
    schema: z
      .strictObject({
        name: label,
        role: roleReference,
        expiresInDays: z.number().int().min(1).max(MAX_DAYS).nullish(),
        currentPassword: z.string().nullish(),
      })
      .meta({ id: 'ApiTokenBody' }),
    example: { name: 'Provider', role: 'PROVIDER', expiresInDays: 365 },
    maxBytes: AUTH_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ ...token.shape, token: z.string().describe('Returned once, here') })
      .meta({ id: 'NewApiToken' }),
    example: { ...example, token: 'parley_c2VjcmV0' },
    headers: NO_STORE,
  },
  errors: ['invalid_credentials', 'password_required', 'too_many_tokens'],
  handle: (administration: Administration) => async (req, res, asked) => {
    const { collections, authorizer } = administration
    const caller = actorOf(res)
    const decision = await authorizer.require(caller, 'tokens', 'write')
    const { name, role, expiresInDays, currentPassword } = asked.body()
    const given = await findRole(collections, caller, role)
    await requireMayGive(administration, caller, given, caller.account)
    const proven = await requireRecentPassword(administration, { req, caller, password: currentPassword })
    const { token, hash } = newApiSecret()
    const document = await newRecord(administration, caller, { name, hash, role: given._id, expiresInDays })
    requireSelected(decision, document)
    await storeNew(administration, tokens, {
      ...{ caller, proven, document, details: { name, role: given._id } },
      along: async (transaction) => {
        await giveRole(collections, transaction, given._id)
        await requireRoomForToken(collections, transaction, caller.workspace._id)
      },
    })
    res.set('cache-control', 'no-store').json({ ...apiTokenView(document), token })
  },
})

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
export const apiTokenRoutes: readonly Route<Administration>[] = [
  listRoute(tokens, { id: 'listApiTokens', summary: 'List API tokens' }),
  createApiToken,
  deleteRoute(tokens, {
    id: 'deleteApiToken',
    summary: 'End an API token',
    requireMayDelete: async ({ collections }, caller, { account, role }) => {
      const maker = await collections.accounts.findOne({ _id: account })
      if (maker !== null && maker._id !== caller.account._id)
        await requireMayManage(collections, caller, role, seenByRules(maker))
    },
    // The invitations that were made with it end with it.
    along: async ({ invitations }, transaction, { _id: token, account }) => {
      await invitations.deleteMany({ account, token }, { session: transaction })
    },
    forgets: 'token',
    details: ({ name, role }) => ({ name, role }),
  }),
]
