import type { Caller } from '@parley/shared/internal-token'
import type { Author } from '../store/stored-document.ts'

/** Whom the history names for what a caller writes. */
export const authorOf = ({ account }: Caller): Author => ({ _id: account._id, username: account.username })
