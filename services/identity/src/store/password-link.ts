import { randomBytes } from 'node:crypto'
import type { mongo } from 'mongoose'
import { type Account, noteIssued, type ProvenAccount } from './account.ts'
import { tokenHash } from './session.ts'

/** A link with which an account gets a new password, once. An account has one at most: the newest. */
export interface PasswordLink {
  /** The account's id. */
  _id: number
  /** Only the secret's hash is stored. */
  hash: string
  createdAt: Date
  /** Then the database removes it. */
  expiresAt: Date
  /** The account that made it for somebody else; missing where it is mailed. */
  maker?: number
  /** The API token that it was made with; it ends with that. */
  token?: number
}

const SECRET_BYTES = 32

/** A link for the account of so many milliseconds, and its secret. */
export function newPasswordLink(
  _id: number,
  lifetimeMs: number,
  made: Pick<PasswordLink, 'maker' | 'token'> = {},
): { link: PasswordLink; secret: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const now = Date.now()
  const link = {
    ...{ _id, hash: tokenHash(secret), createdAt: new Date(now), expiresAt: new Date(now + lifetimeMs) },
    ...made,
  }
  return { link, secret }
}

/**
 * Stores a link in `transaction`, in the place of the one before. False when the account is gone, or its password was
 * changed since it was read.
 */
export async function storePasswordLink(
  {
    accounts,
    passwordLinks,
  }: { accounts: mongo.Collection<Account>; passwordLinks: mongo.Collection<PasswordLink> },
  transaction: mongo.ClientSession,
  { link, account }: { link: PasswordLink; account: Required<ProvenAccount> },
): Promise<boolean> {
  // Of two at once the second conflicts here, and finds the first one's link.
  if (!(await noteIssued(accounts, transaction, account))) return false
  await passwordLinks.replaceOne({ _id: link._id }, link, { upsert: true, session: transaction })
  return true
}
