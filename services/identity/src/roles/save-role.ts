import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { type PermissionEntry, validateEntry } from '@parley/shared/permission/entry'
import { type FieldError, Problem } from '@parley/shared/problem'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findWritable, requireSelected } from '../access/authorizer.ts'
import { adminCheckOf, requireAdminLeft, requireMayManage, requirePermissions } from '../access/privileges.ts'
import { label } from '../accounts/user-fields.ts'
import type { Administration } from '../administration.ts'
import { lookupOf, refusingTakenName, storeChange, storeNew } from '../resource-routes.ts'
import { MERGE_PATCH, REST_BODY_BYTES } from '../schemas.ts'
import { type Actor, actorOf } from '../store/audit.ts'
import type { Collections } from '../store/collections.ts'
import { takeIds } from '../store/ids.ts'
import { permissionsExample, type Role, roleExample, roleSchema, roleView, versionOf } from '../store/role.ts'
import { roles } from './role.ts'

const MAX_ENTRIES = 100
const part = z.union([z.string(), z.boolean(), z.null()])

const permissions = z
  .array(z.strictObject({ schema: part, read: part.optional(), write: part.optional() }))
  .max(MAX_ENTRIES)
const name = label.refine((text) => text !== '', { error: 'is empty' })

const wholeRole = z.strictObject({ name, permissions })
const partOfRole = wholeRole.partial()

const { path, tag } = roles
const response = { schema: roleSchema, example: roleExample }
const whole = {
  schema: wholeRole.meta({ id: 'RoleBody' }),
  example: { name: 'CHANNEL_EDITOR', permissions: permissionsExample },
  maxBytes: REST_BODY_BYTES,
}

/** A role that has at most what the caller has. */
export const createRole = route({
  ...{ method: 'POST', path, access: 'write', id: 'createRole', tag, summary: 'Make a role' },
  body: whole,
  response,
  errors: ['name_taken'],
  handle: (administration: Administration) => async (_req, res, asked) => {
    const { collections, authorizer } = administration
    const caller = actorOf(res)
    const decision = await authorizer.require(caller, 'roles', 'write')
    const { name, permissions } = asked.body()
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
    await refusingTakenName(() =>
      storeNew(administration, roles, {
        caller,
        document: { ...role, adminCheck: adminCheckOf(role) },
        details: { name, permissions },
        along: (transaction) => storeVersion(collections, transaction, role),
      }),
    )
    res.json(roleView(role))
  },
})

const changed = {
  path: `${path}/{id}`,
  access: 'write',
  tag,
  parameters: [idParameter()],
  response,
  errors: ['invalid_id', 'not_found', 'name_taken', 'last_admin', 'precondition_failed'],
} as const

export const putRole = route({
  ...changed,
  method: 'PUT',
  id: 'putRole',
  summary: 'Replace a role',
  description: 'In effect within 2 seconds, for all who have it.',
  body: whole,
  handle: (administration: Administration) => async (req, res, asked) => {
    res.json(roleView(await changeRole(administration, actorOf(res), pathId(req.params), asked.body)))
  },
})

export const patchRole = route({
  ...changed,
  method: 'PATCH',
  id: 'patchRole',
  summary: 'Change a role',
  description: 'What is not sent stays.',
  body: {
    schema: partOfRole.meta({ id: 'RolePatch' }),
    example: { permissions: permissionsExample },
    types: MERGE_PATCH,
    maxBytes: REST_BODY_BYTES,
  },
  handle: (administration: Administration) => async (req, res, asked) => {
    res.json(roleView(await changeRole(administration, actorOf(res), pathId(req.params), asked.body)))
  },
})

/**
 * Every change is a new version, in effect within 2 s; the versions before stay readable for services. Refused when nobody
 * would be left who may write users and roles, and when the role has, before or after, more than the caller.
 */
async function changeRole(
  administration: Administration,
  caller: Actor,
  id: number,
  body: () => z.output<typeof partOfRole>,
): Promise<Role> {
  const { collections } = administration
  const lookup = { ...lookupOf(roles, administration), caller, id }
  const { document: before, decision, writable } = await findWritable(lookup)
  const { name = before.name, permissions = before.permissions } = body()
  requireEntriesParse(permissions)
  await requireMayManage(collections, caller, before._id)
  await requirePermissions(collections, caller, permissions)
  const version = before.version + 1
  const role = { ...before, name, permissions, version, updatedAt: new Date() }
  requireSelected(decision, role)
  const set = { name, permissions, version, adminCheck: adminCheckOf(role), updatedAt: role.updatedAt }
  await refusingTakenName(() =>
    storeChange(administration, roles, {
      ...{ caller, set, before, details: { name, version, permissions } },
      selected: { $and: [writable, { version: before.version }] },
      // Not of this role alone: an API token ends that is stronger than its maker has become.
      forgets: { kind: 'workspace', key: String(role.workspace) },
      along: async (transaction) => {
        await storeVersion(collections, transaction, role)
        await requireAdminLeft(collections, transaction, role.workspace)
      },
    }),
  )
  return role
}

async function storeVersion(
  collections: Collections,
  transaction: mongo.ClientSession,
  role: Role,
): Promise<void> {
  await collections.roleVersions.insertOne(versionOf(role), { session: transaction })
}

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
