import { prepareCollections } from '@parley/shared/prepare-collections'
import type { Connection, mongo } from 'mongoose'
import type { Account, Invitation } from './account.ts'
import type { ApiToken } from './api-token.ts'
import type { AuditEntry } from './audit.ts'
import type { Change } from './change.ts'
import type { CounterDocument } from './ids.ts'
import type { KeyRingDocument } from './key-ring.ts'
import type { PasswordLink } from './password-link.ts'
import type { Role, RoleVersion } from './role.ts'
import type { RefreshToken, Session } from './session.ts'
import type { Team } from './team.ts'
import type { Workspace } from './workspace.ts'

export interface Collections {
  accounts: mongo.Collection<Account>
  apiTokens: mongo.Collection<ApiToken>
  audit: mongo.Collection<AuditEntry>
  changes: mongo.Collection<Change>
  counters: mongo.Collection<CounterDocument>
  invitations: mongo.Collection<Invitation>
  keyRings: mongo.Collection<KeyRingDocument>
  passwordLinks: mongo.Collection<PasswordLink>
  refreshTokens: mongo.Collection<RefreshToken>
  roles: mongo.Collection<Role>
  roleVersions: mongo.Collection<RoleVersion>
  sessions: mongo.Collection<Session>
  teams: mongo.Collection<Team>
  workspaces: mongo.Collection<Workspace>
}

/** Reads nothing but the id: whether there is such a document. */
export const ID_ONLY = { projection: { _id: 1 } } as const

/** The identity service's collections, on the native driver. */
export function collectionsOf(connection: Connection): Collections {
  const native = <T extends mongo.BSON.Document>(name: string) =>
    connection.collection<T>(name) as unknown as mongo.Collection<T>
  return {
    accounts: native('accounts'),
    apiTokens: native('apiTokens'),
    audit: native('audit'),
    changes: native('changes'),
    counters: native('counters'),
    invitations: native('invitations'),
    keyRings: native('keyRings'),
    passwordLinks: native('passwordLinks'),
    refreshTokens: native('refreshTokens'),
    roles: native('roles'),
    roleVersions: native('roleVersions'),
    sessions: native('sessions'),
    teams: native('teams'),
    workspaces: native('workspaces'),
  }
}

const DAY_SECONDS = 86_400
const BY_WORKSPACE = { key: { workspace: 1, _id: 1 } }
const BY_ROLE = { key: { role: 1 } }
// The database removes what has expired.
const EXPIRING = { key: { expiresAt: 1 }, expireAfterSeconds: 0 }

const INDEXES: Record<keyof Collections, mongo.IndexDescription[]> = {
  accounts: [{ key: { usernameKey: 1 }, unique: true }, BY_WORKSPACE, BY_ROLE],
  apiTokens: [{ key: { hash: 1 }, unique: true }, BY_WORKSPACE, { key: { account: 1 } }, BY_ROLE],
  audit: [
    { key: { workspace: 1, _id: -1 } },
    { key: { workspace: 1, account: 1, _id: -1 } },
    { key: { workspace: 1, resource: 1, _id: -1 } },
    { key: { key: 1 }, unique: true, partialFilterExpression: { key: { $exists: true } } },
  ],
  changes: [{ key: { at: 1 }, expireAfterSeconds: DAY_SECONDS }],
  counters: [],
  invitations: [{ key: { hash: 1 }, unique: true }, BY_WORKSPACE, { key: { account: 1 } }, BY_ROLE, EXPIRING],
  keyRings: [],
  passwordLinks: [{ key: { hash: 1 }, unique: true }, { key: { maker: 1 } }, EXPIRING],
  refreshTokens: [EXPIRING],
  roles: [{ key: { workspace: 1, name: 1 }, unique: true }, BY_WORKSPACE],
  roleVersions: [],
  sessions: [{ key: { account: 1 } }, EXPIRING],
  teams: [
    { key: { workspace: 1, name: 1 }, unique: true },
    BY_WORKSPACE,
    { key: { workspace: 1, members: 1 } },
  ],
  workspaces: [{ key: { slug: 1 }, unique: true }],
}

/** Makes the collections and indexes that are missing; entries of the audit log expire after so many days. */
export async function prepareDatabase(
  connection: Connection,
  { auditDays }: { auditDays: number },
): Promise<void> {
  await prepareCollections(connection, INDEXES)
  await expireAudit(connection.db as mongo.Db, auditDays * DAY_SECONDS)
}

const OTHER_OPTIONS = 85

/** Applies the setting to the index; entries that are stored already follow it too. */
async function expireAudit(db: mongo.Db, expireAfterSeconds: number): Promise<void> {
  try {
    await db.collection('audit').createIndex({ at: 1 }, { expireAfterSeconds })
  } catch (error) {
    if ((error as { code?: unknown }).code !== OTHER_OPTIONS) throw error
    await db.command({ collMod: 'audit', index: { keyPattern: { at: 1 }, expireAfterSeconds } })
  }
}
