import { defined } from '@parley/shared/defined'
import { unescapeKeys } from '@parley/shared/safe-keys'
import type { mongo } from 'mongoose'
import { timesExample } from '../schemas.ts'
import type { StoredPreferences } from './preferences.ts'

/** A user of one workspace; the account's id is the user's id. */
export interface Account {
  _id: number
  provider: string
  /** The email exactly as sent. */
  username: string
  /** The key that makes the user name unique. */
  usernameKey: string
  passwordHash: string
  salt: string
  /** The id of the pepper that went into the hash. */
  pepper: string
  name: string
  phone: string
  profile: number
  workspace: number
  role: number
  context: Record<string, unknown>
  preferences?: StoredPreferences
  /**
   * Counts how often a session was given out, the account gave something (an API token, an invitation, a role), or came
   * into a team.
   */
  issued?: number
  createdAt: Date
  updatedAt: Date
}

/** An account as it was when somebody proved to be its owner; with the hash of the password, if it was by that. */
export type ProvenAccount = Pick<Account, '_id'> & Partial<Pick<Account, 'passwordHash'>>

/**
 * Notes in `transaction` that a session of the account is given out, or that it gives something: an API token, an
 * invitation, a role. A change of the account at the same time conflicts with it, so that it either ends what is given
 * or comes first. False when the account is gone, or its password was changed first.
 */
export async function noteIssued(
  accounts: mongo.Collection<Account>,
  transaction: mongo.ClientSession,
  { _id, passwordHash }: ProvenAccount,
): Promise<boolean> {
  const proven = { _id, ...defined({ passwordHash }) }
  const { matchedCount } = await accounts.updateOne(proven, { $inc: { issued: 1 } }, { session: transaction })
  return matchedCount === 1
}

/** The account as its creator sees it once: the hash is of no use without the pepper. */
export function accountView(account: Account) {
  const { _id, provider, username, passwordHash, salt, name, profile } = account
  const { createdAt, updatedAt, context } = account
  return {
    _id,
    provider,
    username,
    passwordHash,
    salt,
    name,
    profile,
    createdAt,
    updatedAt,
    context: unescapeKeys(context),
  }
}

/** The fields that the account and its user have in common, in examples. */
export const accountExample = {
  _id: 1,
  provider: 'local',
  username: 'ana@example.com',
  name: 'Ana Souza',
  profile: 1,
  ...timesExample,
}

/** A place in a workspace that waits for the owner of an email address. */
export interface Invitation {
  _id: number
  workspace: number
  email: string
  role: number
  /** The account that invited. */
  account: number
  /** The API token that it was made with; it ends with that. */
  token?: number
  /** Only the secret's hash is stored. */
  hash: string
  createdAt: Date
  /** Then the database removes it. */
  expiresAt: Date
}

/** The invitation as callers see it: all but the secret. */
export function invitationView({ _id, email, role, account, createdAt, expiresAt }: Invitation) {
  return { _id, email, role, account, createdAt, expiresAt }
}
