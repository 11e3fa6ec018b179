import type { Caller } from '@parley/shared/internal-token'

/** The account that wrote. */
export interface Author {
  _id: number
  username: string
}

/** The author of what happens by itself, or at a provider. */
export const RUNTIME: Author = { _id: 0, username: 'runtime' }

/** Whom the history names for what a caller writes. */
export const authorOf = ({ account }: Caller): Author => ({ _id: account._id, username: account.username })
