import type { PermissionEntry } from '@parley/shared/permission/entry'
import { z } from 'zod'
import { id, times, timesExample } from '../schemas.ts'

export interface Role {
  _id: number
  workspace: number
  name: string
  /** Counts up with every change of name or permissions. */
  version: number
  permissions: PermissionEntry[]
  /** Counts how often it was given to someone. */
  given?: number
  /** The result of a check when that version was stored: true if its holders may write all users and roles. */
  adminCheck?: { version: number; isAdmin: boolean }
  createdAt: Date
  updatedAt: Date
}

/** A role at one version; retained for ever, so that a version once named can always be read. */
export interface RoleVersion {
  _id: string
  role: number
  version: number
  name: string
  permissions: PermissionEntry[]
  createdAt: Date
}

/** The key of one version of a role. */
export const roleVersionId = (role: number, version: number): string => `${role}/${version}`

/** The record of what `role` is now. */
export function versionOf({ _id, version, name, permissions, updatedAt }: Role): RoleVersion {
  return {
    _id: roleVersionId(_id, version),
    role: _id,
    version,
    name,
    permissions,
    createdAt: updatedAt,
  }
}

/** The role as callers see it. */
export function roleView({ _id, name, version, permissions, createdAt, updatedAt }: Role) {
  return { _id, name, version, permissions, createdAt, updatedAt }
}

const part = z
  .union([z.string(), z.boolean(), z.null()])
  .optional()
  .describe('An expression, see the page on permissions')

/** The result of {@link roleView}. */
export const roleSchema = z
  .object({
    _id: id,
    name: z.string(),
    version: z.number().int().describe('Counts up with every change'),
    permissions: z.array(z.object({ schema: part, read: part, write: part })),
    ...times,
  })
  .meta({ id: 'Role', description: 'What those may who have it' })

export const permissionsExample = [
  {
    schema: "{{resource}} == 'channels'",
    read: '{{account.workspace._id}}',
    write: '{{account.workspace._id}}',
  },
]

export const roleExample = {
  _id: 1,
  name: 'CHANNEL_EDITOR',
  version: 1,
  permissions: permissionsExample,
  ...timesExample,
}
