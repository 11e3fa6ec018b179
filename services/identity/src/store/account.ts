import { unescapeKeys } from '@parley/shared/safe-keys'

/** A user of one workspace; the account's id is the user's id. */
export interface Account {
  _id: number
  provider: string
  /** The email exactly as sent. */
  username: string
  /** What makes the user name unique. */
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
  createdAt: Date
  updatedAt: Date
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

/** A place in a workspace that waits for the owner of an email address. */
export interface Invitation {
  _id: number
  workspace: number
  email: string
  role: number
  /** The account that invited. */
  account: number
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
