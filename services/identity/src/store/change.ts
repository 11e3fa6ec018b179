import { type ClientSession, type Model, Schema } from 'mongoose'

/** What the gateway has to forget: everything it knows about callers of one of these. */
export interface Change {
  at: Date
  kind: 'session' | 'account' | 'role' | 'token' | 'workspace'
  key: string
}

const DAY_SECONDS = 86_400

export const changeSchema = new Schema<Change>(
  {
    at: { type: Date, required: true },
    kind: { type: String, required: true },
    key: { type: String, required: true },
  },
  { versionKey: false },
)
changeSchema.index({ at: 1 }, { expireAfterSeconds: DAY_SECONDS })

/** Makes a change known; part of the transaction that makes the change, so that both are seen at once. */
export async function announce(
  changes: Model<Change>,
  transaction: ClientSession,
  ...announced: Pick<Change, 'kind' | 'key'>[]
): Promise<void> {
  const at = new Date()
  await changes.insertMany(
    announced.map((change) => ({ ...change, at })),
    { session: transaction },
  )
}
