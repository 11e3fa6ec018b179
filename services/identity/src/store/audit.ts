import { defined } from '@parley/shared/defined'
import type { mongo } from 'mongoose'
import { type CounterDocument, takeIds } from './ids.ts'

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

type Act = Pick<AuditEntry, 'action' | 'resource' | 'document' | 'details'>

type Actor = { workspace: { _id: number }; account: { _id: number }; token?: number | undefined }

/** Writes an act into the audit log, within the transaction that does it. */
export async function audit(
  collections: { audit: mongo.Collection<AuditEntry>; counters: mongo.Collection<CounterDocument> },
  transaction: mongo.ClientSession,
  caller: Actor,
  act: Act,
): Promise<void> {
  const { entries } = await takeIds({
    counters: collections.counters,
    from: 'audit',
    amounts: { entries: 1 },
  })
  const entry = {
    _id: entries,
    workspace: caller.workspace._id,
    at: new Date(),
    account: caller.account._id,
    ...defined({ token: caller.token }),
    ...act,
  }
  await collections.audit.insertOne(entry, { session: transaction })
}
