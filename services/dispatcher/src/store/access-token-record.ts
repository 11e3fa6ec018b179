/** The tokens of an action whose credentials name an OAuth client, and the lease of whoever asks for others. */
export interface AccessTokenRecord {
  /** `<workspace>/<action>` */
  _id: string
  /** The tokens that `access-tokens.ts` keeps, as JSON text, sealed for the workspace. */
  sealed?: string
  /** Until when the access token is valid. */
  validUntil?: Date
  /** When the record is removed. */
  removedAt?: Date
  /** Of the lease. */
  owner?: string
  expiresAt?: Date
}

/** Consent that somebody is giving to an action's client, by a hash of its state. */
export interface AuthorizationRecord {
  _id: string
  workspace: number
  action: number
  account: number
  /** The login in which it began, or the API token. */
  session: string
  /** The values that complete it, as JSON text, sealed for the workspace. */
  sealed: string
  expiresAt: Date
}
