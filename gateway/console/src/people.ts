import { listAll } from './api.ts'
import { t } from './language.ts'
import { may } from './rights.ts'

export interface User {
  _id: number
  username: string
  name: string
  phone: string
  role: number
  createdAt: string
}

export interface Role {
  _id: number
  name: string
  version: number
  permissions: { schema?: unknown; read?: unknown; write?: unknown }[]
  updatedAt: string
}

export interface Names {
  users: ReadonlyMap<number, string>
  roles: ReadonlyMap<number, string>
}

/** The names of users and roles by id, of those that the caller may read. */
export async function names(): Promise<Names> {
  const [users, roles] = await Promise.all([
    may('read', 'users') ? listAll<User>('/rest/users') : [],
    may('read', 'roles') ? listAll<Role>('/rest/roles') : [],
  ])
  return {
    users: new Map(users.map(({ _id, username }) => [_id, username])),
    roles: new Map(roles.map(({ _id, name }) => [_id, name])),
  }
}

const ROLES: Readonly<Record<string, string>> = {
  WORKSPACE_ADMIN: t('Workspace admin'),
  MEMBER: t('Member'),
  VIEWER: t('Viewer'),
  PROVIDER: t('Provider'),
}

/** A role by its name, the usual ones in words. */
export const roleInWords = (name: string): string =>
  ROLES[name] ??
  (/^[A-Z_]+$/.test(name) ? name.charAt(0) + name.slice(1).toLowerCase().replaceAll('_', ' ') : name)

export const optionsOf = (roles: ReadonlyMap<number, string>): { value: string; name: string }[] =>
  [...roles].map(([id, name]) => ({ value: String(id), name: roleInWords(name) }))
