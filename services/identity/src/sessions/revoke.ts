import type { ClientSession } from 'mongoose'
import { announce } from '../store/change.ts'
import type { Models } from '../store/models.ts'

type SessionModels = Pick<Models, 'sessions' | 'changes'>

/** Ends one session, within `transaction`: its access tokens stop working in under 2 s. */
export async function revokeSession(
  models: SessionModels,
  transaction: ClientSession,
  session: string,
): Promise<void> {
  const revoked = { $set: { revokedAt: new Date() } }
  await models.sessions.updateOne({ _id: session }, revoked, { session: transaction })
  await announce(models.changes, transaction, { kind: 'session', key: session })
}

/** Ends every session of an account, within `transaction`, except one. */
export async function revokeSessions(
  models: SessionModels,
  transaction: ClientSession,
  { account, except }: { account: number; except?: string },
): Promise<void> {
  const others = { account, _id: { $ne: except ?? '' }, revokedAt: { $exists: false } }
  const revoked = { $set: { revokedAt: new Date() } }
  await models.sessions.updateMany(others, revoked, { session: transaction })
  await announce(models.changes, transaction, { kind: 'account', key: String(account) })
}
