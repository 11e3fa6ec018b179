import type { mongo } from 'mongoose'
import { announce } from '../store/change.ts'
import type { Collections } from '../store/collections.ts'

type SessionCollections = Pick<Collections, 'sessions' | 'changes'>

const UNREVOKED = { revokedAt: { $exists: false } }

/** Ends one session, in `transaction`: its access tokens stop working in under 2 s. One that has ended is no change. */
export async function revokeSession(
  collections: SessionCollections,
  transaction: mongo.ClientSession,
  session: string,
): Promise<void> {
  const { modifiedCount } = await collections.sessions.updateOne({ _id: session, ...UNREVOKED }, revoked(), {
    session: transaction,
  })
  if (modifiedCount > 0) await announce(collections.changes, transaction, { kind: 'session', key: session })
}

/** Ends every session of an account, in `transaction`, except one. When there is none left, it is no change. */
export async function revokeSessions(
  collections: SessionCollections,
  transaction: mongo.ClientSession,
  { account, except }: { account: number; except?: string },
): Promise<void> {
  const others = { account, _id: { $ne: except ?? '' }, ...UNREVOKED }
  const { modifiedCount } = await collections.sessions.updateMany(others, revoked(), { session: transaction })
  if (modifiedCount > 0)
    await announce(collections.changes, transaction, { kind: 'account', key: String(account) })
}

/** Ends what an account gave, in `transaction`: its API tokens, and the invitations and password links that it made. */
export async function endGiven(
  { apiTokens, invitations, passwordLinks }: Pick<Collections, 'apiTokens' | 'invitations' | 'passwordLinks'>,
  transaction: mongo.ClientSession,
  account: number,
): Promise<void> {
  const options = { session: transaction }
  await apiTokens.deleteMany({ account }, options)
  await invitations.deleteMany({ account }, options)
  await passwordLinks.deleteMany({ maker: account }, options)
}

const revoked = () => ({ $set: { revokedAt: new Date() } })
