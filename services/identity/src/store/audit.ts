import { defined } from '@parley/shared/defined'
import { type ClientSession, Schema } from 'mongoose'
import { takeIds } from './ids.ts'
import type { Models } from './models.ts'

/** One administrative act: who did what to which document, and when. */
export interface AuditEntry {
  _id: number
  workspace: number
  at: Date
  /** The account that acted. */
  account: number
  /** The API token it acted with, if any. */
  token?: number
  action: string
  resource: string
  document: number
  /** What the act was about, free of secrets. */
  details: Record<string, unknown>
}

const required = true

export const auditSchema = new Schema<AuditEntry>(
  {
    _id: { type: Number, required },
    workspace: { type: Number, required },
    at: { type: Date, required },
    account: { type: Number, required },
    token: Number,
    action: { type: String, required },
    resource: { type: String, required },
    document: { type: Number, required },
    details: { type: Schema.Types.Mixed, required },
  },
  { minimize: false, versionKey: false },
)
auditSchema.index({ workspace: 1, _id: -1 })

type Act = Pick<AuditEntry, 'action' | 'resource' | 'document' | 'details'>

type Actor = { workspace: { _id: number }; account: { _id: number }; token?: number | undefined }

/** Writes an act into the audit log, within the transaction that does it. */
export async function audit(
  models: Pick<Models, 'audit' | 'counters'>,
  transaction: ClientSession,
  caller: Actor,
  act: Act,
): Promise<void> {
  const { entries } = await takeIds({ counters: models.counters, from: 'audit', amounts: { entries: 1 } })
  const entry = {
    _id: entries,
    workspace: caller.workspace._id,
    at: new Date(),
    account: caller.account._id,
    ...defined({ token: caller.token }),
    ...act,
  }
  await models.audit.insertOne(entry, { session: transaction })
}
