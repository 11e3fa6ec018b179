import { DEFAULT_ROLES } from '@parley/shared/permission/default-roles'
import type { Connection } from 'mongoose'
import { usernameKey } from '../accounts/username-key.ts'
import type { StoredPassword } from '../passwords/passwords.ts'
import { type Account, accountView } from '../store/account.ts'
import { takeIds } from '../store/ids.ts'
import type { Models } from '../store/models.ts'
import { type Role, versionOf } from '../store/role.ts'
import { newSession, type Session } from '../store/session.ts'
import { inTransaction } from '../store/transaction.ts'
import { type Workspace, workspaceView } from '../store/workspace.ts'

/** What a new user sends. */
export interface NewUser {
  name: string
  email: string
  phone: string
  namespace: string
}

/** All that comes into being with a registration. */
export interface Registered {
  account: Account
  workspace: Workspace
  roles: Role[]
  session: Session
}

interface Plan {
  user: NewUser
  password: StoredPassword
  slug: string
  baseDomain: string
  ids: Record<'accounts' | 'profiles' | 'workspaces' | 'roles', number>
  sessionMs: number
}

/** Takes the ids for one registration. */
export function takeRegistrationIds(models: Pick<Models, 'counters'>): Promise<Plan['ids']> {
  const wanted = { accounts: 1, profiles: 1, workspaces: 1, roles: DEFAULT_ROLES.length }
  return takeIds({ counters: models.counters, from: 'ids', wanted })
}

/** The documents of a new user: a workspace of their own, its four roles, and a first session. */
export function planRegistration({ user, password, slug, baseDomain, ids, sessionMs }: Plan): Registered {
  const now = new Date()
  const stamps = { createdAt: now, updatedAt: now }
  const roles = DEFAULT_ROLES.map(({ name, permissions }, at) => ({
    _id: ids.roles + at,
    workspace: ids.workspaces,
    name,
    version: 1,
    permissions: permissions.map((entry) => ({ ...entry })),
    ...stamps,
  }))
  const workspace = {
    _id: ids.workspaces,
    name: user.namespace,
    namespace: user.namespace,
    slug,
    host: `${slug}.${baseDomain}`,
    status: 'active',
    context: {},
    ...stamps,
  }
  const account = {
    _id: ids.accounts,
    provider: 'local',
    username: user.email,
    usernameKey: usernameKey(user.email),
    ...password,
    name: user.name,
    phone: user.phone,
    profile: ids.profiles,
    workspace: ids.workspaces,
    role: ids.roles,
    context: {},
    ...stamps,
  }
  return { account, workspace, roles, session: newSession(account._id, sessionMs) }
}

/** Stores all of it or nothing; throws the database's duplicate error when email or slug is taken. */
export function storeRegistration(
  connection: Connection,
  models: Models,
  { account, workspace, roles, session }: Registered,
): Promise<void> {
  return inTransaction(connection, async (transaction) => {
    const options = { session: transaction }
    await models.accounts.insertOne(account, options)
    await models.workspaces.insertOne(workspace, options)
    await models.roles.insertMany(roles, options)
    await models.roleVersions.insertMany(roles.map(versionOf), options)
    await models.sessions.insertOne(session, options)
  })
}

/** The answer to a registration. */
export function registeredView({ account, workspace }: Registered) {
  return {
    _id: account._id,
    account: accountView(account),
    role: account.role,
    workspace: workspaceView(workspace),
    createdAt: account.createdAt,
    updatedAt: account.updatedAt,
  }
}
