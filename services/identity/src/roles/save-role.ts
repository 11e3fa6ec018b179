import { isDuplicate } from '@parley/shared/insert-new'
import { type PermissionEntry, validateEntry } from '@parley/shared/permission/entry'
import { type FieldError, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import { parse } from '@parley/shared/validate'
import type { RequestHandler } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireFound, requireSelected } from '../access/authorizer.ts'
import { adminCheckOf, requireAdminLeft, requireMayManage, requirePermissions } from '../access/privileges.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { requireStillValid } from '../password-change/recent-password.ts'
import { pathId } from '../requests.ts'
import { audit } from '../store/audit.ts'
import { announce } from '../store/change.ts'
import type { Collections } from '../store/collections.ts'
import { takeIds } from '../store/ids.ts'
import { type Role, roleView, versionOf } from '../store/role.ts'

/** `POST /rest/roles`: a role that has at most what the caller has. */
export function createRole({ connection, collections, authorizer }: Administration): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'roles', 'write')
    const { name, permissions } = parse(wholeRole, req.body)
    requireEntriesParse(permissions)
    await requirePermissions(collections, caller, permissions)
    const { roles: _id } = await takeIds({
      counters: collections.counters,
      from: 'ids',
      amounts: { roles: 1 },
    })
    const now = new Date()
    const workspace = caller.workspace._id
    const role = { _id, workspace, name, version: 1, permissions, createdAt: now, updatedAt: now }
    requireSelected(decision, role)
    const adminCheck = adminCheckOf(role)
    await refusingTakenName(() =>
      inTransaction(connection, async (transaction) => {
        await requireStillValid(collections, transaction, { caller })
        await collections.roles.insertOne({ ...role, adminCheck }, { session: transaction })
        await storeVersion(collections, transaction, role)
        const details = { name, permissions }
        await audit(collections, transaction, caller, {
          action: 'create',
          resource: 'roles',
          document: _id,
          details,
        })
      }),
    )
    res.json(roleView(role))
  }
}

/**
 * `PUT` and `PATCH /rest/roles/{id}`: every change is a new version, in effect within 2 s; the versions before
 * stay readable for services. Refused when nobody would be left who may write users and roles, and when the role
 * has, before or after, more than the caller.
 */
export function changeRole(
  { connection, collections, authorizer }: Administration,
  body: typeof wholeRole | typeof partOfRole,
): RequestHandler {
  return async (req, res) => {
    const caller = callerOf(res)
    const {
      document: before,
      decision,
      writable,
    } = await findWritable({
      authorizer,
      caller,
      resource: 'roles',
      collection: collections.roles,
      id: pathId(req),
    })
    const { name = before.name, permissions = before.permissions } = parse(body, req.body)
    requireEntriesParse(permissions)
    await requireMayManage(collections, caller, before._id)
    await requirePermissions(collections, caller, permissions)
    const version = before.version + 1
    const role = { ...before, name, permissions, version, updatedAt: new Date() }
    requireSelected(decision, role)
    const adminCheck = adminCheckOf(role)
    await refusingTakenName(() =>
      inTransaction(connection, async (transaction) => {
        await requireStillValid(collections, transaction, { caller })
        const { matchedCount } = await collections.roles.updateOne(
          { $and: [writable, { version: before.version }] },
          { $set: { name, permissions, version, adminCheck, updatedAt: role.updatedAt } },
          { session: transaction },
        )
        requireFound(matchedCount)
        await storeVersion(collections, transaction, role)
        await requireAdminLeft(collections, transaction, role.workspace)
        // Not of this role alone: an API token ends that is stronger than its maker has become.
        await announce(collections.changes, transaction, { kind: 'workspace', key: String(role.workspace) })
        const details = { name, version, permissions }
        const act = { action: 'update', resource: 'roles', document: role._id, details }
        await audit(collections, transaction, caller, act)
      }),
    )
    res.json(roleView(role))
  }
}

async function storeVersion(
  collections: Collections,
  transaction: mongo.ClientSession,
  role: Role,
): Promise<void> {
  await collections.roleVersions.insertOne(versionOf(role), { session: transaction })
}

async function refusingTakenName(store: () => Promise<void>): Promise<void> {
  try {
    await store()
  } catch (error) {
    throw isDuplicate(error, 'name') ? new Problem('name_taken') : error
  }
}

const MAX_ENTRIES = 100
const part = z.union([z.string(), z.boolean(), z.null()])

const permissions = z
  .array(z.strictObject({ schema: part, read: part.optional(), write: part.optional() }))
  .max(MAX_ENTRIES)
const name = label.refine((text) => text !== '', { error: 'is empty' })

/** A new role, or a whole one. */
export const wholeRole = z.strictObject({ name, permissions })
/** What may change of a role. */
export const partOfRole = wholeRole.partial()

/** Throws `validation_failed` with the column for every expression that does not parse. */
function requireEntriesParse(entries: readonly PermissionEntry[]): void {
  const fieldErrors: FieldError[] = entries.flatMap((entry, at) =>
    validateEntry(entry).map(({ path, column, message }) => ({
      path: `/permissions/${at}${path}`,
      code: 'bad_expression',
      message: `column ${column}: ${message}`,
      column,
    })),
  )
  if (fieldErrors.length > 0) throw new Problem('validation_failed', { errors: fieldErrors })
}
