import { unescapeKeys } from '@parley/shared/safe-keys'
import { Schema } from 'mongoose'

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

const required = true

export const accountSchema = new Schema<Account>(
  {
    _id: { type: Number, required },
    provider: { type: String, required },
    username: { type: String, required },
    usernameKey: { type: String, required },
    passwordHash: { type: String, required },
    salt: { type: String, required },
    pepper: { type: String, required },
    name: String,
    phone: String,
    profile: { type: Number, required },
    workspace: { type: Number, required },
    role: { type: Number, required },
    context: { type: Schema.Types.Mixed, required },
    createdAt: { type: Date, required },
    updatedAt: { type: Date, required },
  },
  { minimize: false, versionKey: false },
)
accountSchema.index({ usernameKey: 1 }, { unique: true })
accountSchema.index({ workspace: 1, _id: 1 })
accountSchema.index({ role: 1 })

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

export const invitationSchema = new Schema<Invitation>(
  {
    _id: { type: Number, required },
    workspace: { type: Number, required },
    email: { type: String, required },
    role: { type: Number, required },
    account: { type: Number, required },
    hash: { type: String, required },
    createdAt: { type: Date, required },
    expiresAt: { type: Date, required },
  },
  { versionKey: false },
)
invitationSchema.index({ hash: 1 }, { unique: true })
invitationSchema.index({ workspace: 1, _id: 1 })
invitationSchema.index({ role: 1 })
invitationSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 })

/** The invitation as callers see it: all but the secret. */
export function invitationView({ _id, email, role, account, createdAt, expiresAt }: Invitation) {
  return { _id, email, role, account, createdAt, expiresAt }
}
