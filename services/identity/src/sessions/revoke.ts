import type { mongo } from 'mongoose'
import { announce } from '../store/change.ts'
import type { Collections } from '../store/collections.ts'

type SessionCollections = Pick<Collections, 'sessions' | 'changes'>

/** Ends one session, within `transaction`: its access tokens stop working in under 2 s. */
export async function revokeSession(
  collections: SessionCollections,
  transaction: mongo.ClientSession,
  session: string,
): Promise<void> {
  const revoked = { $set: { revokedAt: new Date() } }
  await collections.sessions.updateOne({ _id: session }, revoked, { session: transaction })
  await announce(collections.changes, transaction, { kind: 'session', key: session })
}

/** Ends every session of an account, within `transaction`, except one. */
export async function revokeSessions(
  collections: SessionCollections,
  transaction: mongo.ClientSession,
  { account, except }: { account: number; except?: string },
): Promise<void> {
  const others = { account, _id: { $ne: except ?? '' }, revokedAt: { $exists: false } }
  const revoked = { $set: { revokedAt: new Date() } }
  await collections.sessions.updateMany(others, revoked, { session: transaction })
  await announce(collections.changes, transaction, { kind: 'account', key: String(account) })
}
