import { Schema } from 'mongoose'

/** A place in a workspace that waits for the owner of an email address. */
export interface Invitation {
  _id: number
  workspace: number
  email: string
  role: number
  /** The account that invited. */
  account: number
  /** Only the secret's hash is kept. */
  hash: string
  createdAt: Date
  /** Then the database removes it. */
  expiresAt: Date
}

const required = true

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
