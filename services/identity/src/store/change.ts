import type { mongo } from 'mongoose'

/** An entry that the gateway has to forget: everything it knows about callers of one of these. */
export interface Change {
  at: Date
  kind: 'session' | 'account' | 'role' | 'token' | 'workspace'
  key: string
}

/** Makes a change known; part of the transaction that makes the change, so that both are seen at once. */
export async function announce(
  changes: mongo.Collection<Change>,
  transaction: mongo.ClientSession,
  ...announced: Pick<Change, 'kind' | 'key'>[]
): Promise<void> {
  const at = new Date()
  await changes.insertMany(
    announced.map((change) => ({ ...change, at })),
    { session: transaction },
  )
}
