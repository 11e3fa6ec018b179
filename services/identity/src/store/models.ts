import type { Connection } from 'mongoose'
import { type KeyRingDocument, keyRingSchema } from '../signing-keys/key-ring.ts'
import { type Account, accountSchema, type Invitation, invitationSchema } from './account.ts'
import { type ApiToken, apiTokenSchema } from './api-token.ts'
import { type AuditEntry, auditSchema } from './audit.ts'
import { type Change, changeSchema } from './change.ts'
import { type CounterDocument, counterSchema } from './ids.ts'
import { type Role, type RoleVersion, roleSchema, roleVersionSchema } from './role.ts'
import { type RefreshToken, refreshTokenSchema, type Session, sessionSchema } from './session.ts'
import { type Workspace, workspaceSchema } from './workspace.ts'

/** The collections of this service. */
export function createModels(connection: Connection) {
  return {
    accounts: connection.model<Account>('Account', accountSchema, 'accounts'),
    apiTokens: connection.model<ApiToken>('ApiToken', apiTokenSchema, 'apiTokens'),
    audit: connection.model<AuditEntry>('AuditEntry', auditSchema, 'audit'),
    changes: connection.model<Change>('Change', changeSchema, 'changes'),
    counters: connection.model<CounterDocument>('Counter', counterSchema, 'counters'),
    invitations: connection.model<Invitation>('Invitation', invitationSchema, 'invitations'),
    keyRings: connection.model<KeyRingDocument>('KeyRing', keyRingSchema, 'keyRings'),
    refreshTokens: connection.model<RefreshToken>('RefreshToken', refreshTokenSchema, 'refreshTokens'),
    roles: connection.model<Role>('Role', roleSchema, 'roles'),
    roleVersions: connection.model<RoleVersion>('RoleVersion', roleVersionSchema, 'roleVersions'),
    sessions: connection.model<Session>('Session', sessionSchema, 'sessions'),
    workspaces: connection.model<Workspace>('Workspace', workspaceSchema, 'workspaces'),
  }
}

export type Models = ReturnType<typeof createModels>

/** Creates what is missing of the collections and their indexes. */
export async function createCollections(models: Models): Promise<void> {
  for (const model of Object.values(models)) {
    await model.createCollection()
    await model.createIndexes()
  }
}
