import { defined } from '@parley/shared/defined'
import { every, pause } from '@parley/shared/every'
import { insertNew } from '@parley/shared/insert-new'
import type { Log } from '@parley/shared/log'
import type { Broker } from '@parley/shared/messaging/connection'
import type { Publisher } from '@parley/shared/messaging/publisher'
import type { ChannelModel } from 'amqplib'
import type { mongo } from 'mongoose'
import type { AuditedMessage } from '../store/audit-records.ts'
import type { Collections } from '../store/collections.ts'
import { createLeaseStore, type Lease } from '../store/lease-store.ts'
import type { RecentlyStored } from '../store/recently-stored.ts'
import type { Times } from '../times.ts'
import { type LogPosition, readPosition, writeAudit } from './audit-state.ts'
import { type EmptySlots, emptySlotsOf, locate, type Places, placed } from './locate.ts'
import { type LostMessage, publishAgain } from './publish-again.ts'
import { type LogEntry, readLog } from './read-log.ts'
import { removeEnded } from './remove-ended.ts'
import { createTrace } from './trace-missing.ts'

const REMOVE_MS = 30_000

export interface Auditor {
  attach(connection: ChannelModel): void
  close(): Promise<void>
}

interface AuditorOptions {
  collections: Collections
  startSession(): mongo.ClientSession
  instance: string
  /** By a connection for the audit alone: it goes to another node when this one has no replica of the log. */
  broker: Pick<Broker, 'withChannel' | 'moveOn'>
  publisher: Pick<Publisher, 'publish'>
  /** Declares the log again when it was deleted. */
  declare(): Promise<void>
  recentlyStored: Pick<RecentlyStored, 'find'>
  retentionMs: number
  /** How long a message may take to be stored after its queue ran empty, in milliseconds; 60 s by default. */
  graceMs?: number
  times: Pick<Times, 'auditCheck' | 'auditBehind' | 'auditAgain'>
  log: Log
}

/**
 * Compares the log of what was accepted with the store, in one instance at a time: under a lease it reads the log,
 * traces what is missing, and removes what is past its retention.
 */
export function startAuditor(options: AuditorOptions): Auditor {
  const { collections, instance, times, log } = options
  const leases = createLeaseStore({
    collections: { partitions: collections.auditors, instances: collections.instances },
    instance,
  })
  let connection: ChannelModel | undefined
  let audit: Audit | undefined
  const drop = async () => {
    const ended = audit
    audit = undefined
    await ended?.stop()
  }
  const loop = every({
    pauseMs: times.auditCheck,
    run: async () => {
      if (audit !== undefined) await leases.renew([audit.lease])
      if (audit?.lease.isValid() === false) await drop()
      if (audit !== undefined) return
      const lease = await leases.acquire([])
      if (lease === undefined) return
      audit = startAudit({ ...options, lease })
      if (connection !== undefined) audit.attach(connection)
    },
    failed: ({ message }) => log.warn({ reason: message }, 'audit lease not renewed'),
  })
  return {
    attach(model) {
      connection = model
      audit?.attach(model)
    },
    async close() {
      await loop.stop()
      const lease = audit?.lease
      await drop()
      if (lease !== undefined) await leases.release(lease).catch(() => {})
    },
  }
}

interface Audit {
  lease: Lease
  attach(connection: ChannelModel): void
  stop(): Promise<void>
}

/** Starts the work of the lease's owner. */
function startAudit(options: AuditorOptions & { lease: Lease }): Audit {
  const { collections, lease, broker, publisher, declare, times, log } = options
  const stopping = new AbortController()
  const active = () => !stopping.signal.aborted && lease.isValid()
  const pauseUntilStopped = (milliseconds: number) => pause(milliseconds, stopping.signal)
  const now = Date.now
  const shared = { ...options, active, now, emptySlots: emptySlotsOf(broker, collections) }
  // It is written by and by, and not with each batch: what is read again is counted once.
  let position: LogPosition | undefined
  const reader = readLog({
    position: async () => position ?? (await readPosition(collections.audit)),
    work: async (entries, last) => {
      await pauseUntilStopped(waitFor(last, times.auditBehind, now()))
      await auditEntries(entries.filter(youngEnough(now() - options.retentionMs)), {
        ...shared,
        pause: pauseUntilStopped,
      })
      if (active()) position = last
    },
    isLeased: active,
    refused: broker.moveOn,
    declare,
    log,
  })
  const trace = createTrace({
    ...shared,
    publishAgain: (lost: LostMessage[]) =>
      publishAgain({ lost, broker, publisher, layouts: collections.layouts }),
  })
  const failed = (what: string) => (error: Error) =>
    log.warn({ reason: error.message }, `${what} failed; it is tried again`)
  const tracing = every({
    pauseMs: times.auditCheck,
    run: async () => {
      if (!active()) return
      await writeAudit(collections.audit, lease, { ...position, ...defined({ readUpTo: reader.readUpTo() }) })
      await writeAudit(collections.audit, lease, { difference: await trace(), checkedAt: new Date() })
    },
    failed: failed('tracing missing messages'),
  })
  const removing = every({
    pauseMs: REMOVE_MS,
    run: async () => {
      if (active()) await removeEnded(shared)
    },
    failed: failed('removing ended messages'),
  })
  return {
    lease,
    attach: (connection) => reader.attach(connection),
    async stop() {
      stopping.abort()
      await Promise.all([tracing.stop(), removing.stop(), reader.close()])
    },
  }
}

/** How long the audit of an entry is too early. */
const waitFor = ({ acceptedAt }: LogPosition, behindMs: number, now: number): number =>
  Math.min(behindMs, Math.max(0, acceptedAt.getTime() + behindMs - now))

/** True if an entry is young enough: an older message may have been stored, have ended and been removed. */
const youngEnough =
  (since: number) =>
  ({ acceptedAt }: LogEntry): boolean =>
    acceptedAt.getTime() > since

interface AuditEntriesOptions extends Places {
  collections: Pick<Collections, 'messages' | 'rejected' | 'audited'>
  emptySlots: EmptySlots
  /** Ends early when the audit stops. */
  pause(milliseconds: number): Promise<void>
  active(): boolean
  times: Pick<Times, 'auditAgain'>
  now(): number
}

/**
 * Writes down, once for each id, where the messages of a batch of the log are. One that is not found is waited
 * for while the queue of its slot has anything: the queue comes before the store. Only then it is missing.
 * Rejects while MongoDB or the broker is unavailable; the same batch may be given again.
 */
async function auditEntries(entries: LogEntry[], options: AuditEntriesOptions): Promise<void> {
  const { collections, emptySlots, pause, active, times, now } = options
  let left = [...new Map(entries.map((entry) => [entry.messageId, entry])).values()]
  let empty = new Map<number, Date>()
  while (active()) {
    const located = await locate(options, left)
    await insertNew(collections.audited, [...located.values()])
    left = left.filter(({ messageId }) => !located.has(messageId))
    if (left.every(({ slot }) => empty.has(slot))) break
    await pause(times.auditAgain)
    const at = new Date(now())
    const stillEmpty = await emptySlots(left.map(({ slot }) => slot))
    empty = new Map([...stillEmpty].map((slot) => [slot, empty.get(slot) ?? at]))
  }
  if (active())
    await insertNew(
      collections.audited,
      left.map((entry) => missing(entry, empty)),
    )
}

function missing(entry: LogEntry, empty: Map<number, Date>): AuditedMessage {
  const { slot, offset, acceptedAt } = entry
  const emptyAt = empty.get(slot)
  const trace = { slot, offset, acceptedAt, published: 0, ...defined({ emptyAt }) }
  return { ...placed(entry, 'missing'), trace }
}
