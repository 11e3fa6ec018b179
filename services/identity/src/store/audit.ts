import { createHash } from 'node:crypto'
import { type ReportedAct, repeatKey } from '@parley/shared/audit-acts'
import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { callerOf } from '@parley/shared/service-app'
import type { Request, Response } from 'express'
import type { mongo } from 'mongoose'
import { type CounterDocument, takeIds } from './ids.ts'

/** The old and the new value of a field, as JSON of at most 200 characters. */
interface AuditChange {
  field: string
  before: string
  after: string
}

/** Something that somebody did or was refused: who, what, when and from where. */
export interface AuditEntry {
  _id: number
  workspace: number
  at: Date
  /** The account that acted; of a login, the one that it is for. */
  account: number
  /** The API token it acted with, if any. */
  token?: number
  /** The name of the account; like the next ones it is missing in entries from before these fields existed. */
  name?: string
  address?: string
  requestId?: string
  /** Done where it is missing. */
  outcome?: 'done' | 'refused'
  /** How often within a minute; once where it is missing. */
  times?: number
  /** The path of the request, where another service did it. */
  path?: string
  action: string
  resource: string
  /** 0 where it has none that is a number. */
  document: number
  /** The subject of the act, free of secrets. */
  details: Record<string, unknown>
  changes?: AuditChange[]
  /** Makes repeats within a minute one entry. */
  key?: string
}

type Act = Pick<AuditEntry, 'action' | 'resource' | 'document' | 'details' | 'changes'>

type AuditCollections = {
  audit: mongo.Collection<AuditEntry>
  counters: mongo.Collection<CounterDocument>
}

/** The caller who acts, and the request in which they do. */
export type Actor = Caller & Origin
type Origin = { address: string; requestId: string }

/** The caller of a request, with where it comes from. */
export const actorOf = (res: Response): Actor => ({ ...callerOf(res), ...originOf(res.req) })

/** Where a request comes from, as the gateway trusts it. */
export function originOf(req: Request): Origin {
  const address = String(req.headers['x-forwarded-for'] ?? req.socket.remoteAddress)
  return { address, requestId: String(req.headers['x-request-id']) }
}

/** Writes an act into the audit log, within the transaction that does it. */
export async function audit(
  collections: AuditCollections,
  transaction: mongo.ClientSession,
  actor: Origin & {
    workspace: { _id: number }
    account: { _id: number; name: string }
    token?: number | undefined
  },
  act: Act,
): Promise<void> {
  const _id = await entryIds(collections, 1)
  const { workspace, account, token, address, requestId } = actor
  const entry = {
    ...{ _id, workspace: workspace._id, at: new Date(), account: account._id, name: account.name },
    ...{ address, requestId, outcome: 'done' as const },
    ...defined({ token }),
    ...act,
  }
  await collections.audit.insertOne(entry, { session: transaction })
}

/** Stores what was reported; an act that comes again within its minute is counted in the entry of the first. */
export async function storeReported(
  collections: AuditCollections,
  acts: readonly ReportedAct[],
): Promise<void> {
  if (acts.length === 0) return
  const first = await entryIds(collections, acts.length)
  await collections.audit.bulkWrite(
    acts.map((act, at) => {
      const { times, token, ...entry } = act
      const key = createHash('sha256').update(repeatKey(act)).digest('base64url')
      const set = { ...entry, ...defined({ token }), _id: first + at, at: new Date(act.at), details: {} }
      const update = { $setOnInsert: set, $inc: { times } }
      return { updateOne: { filter: { key }, update, upsert: true } }
    }),
    { ordered: false },
  )
}

async function entryIds({ counters }: AuditCollections, entries: number): Promise<number> {
  return (await takeIds({ counters, from: 'audit', amounts: { entries } })).entries
}

const MAX_CHANGES = 50
const MAX_VALUE = 200
// It may have anything in it.
const FREE_FORM = new Set(['context'])
const MASK = '***'
const NO_CHANGE = new Set(['updatedAt', 'version', 'adminCheck'])

/** Returns the changes that `set` makes to a document without secrets. */
export function changesOf(before: object, set: object): AuditChange[] {
  const was = before as Record<string, unknown>
  return Object.entries(set)
    .filter(([field]) => !NO_CHANGE.has(field))
    .map(([field, value]) => ({ field, before: shown(was[field]), after: shown(value) }))
    .filter((change) => change.before !== change.after)
    .slice(0, MAX_CHANGES)
    .map(({ field, before, after }) =>
      FREE_FORM.has(field)
        ? { field, before: MASK, after: MASK }
        : { field, before: cut(before), after: cut(after) },
    )
}

const shown = (value: unknown): string => JSON.stringify(value) ?? ''
const cut = (text: string): string =>
  text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE - 1).toWellFormed()}…`
