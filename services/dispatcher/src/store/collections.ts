import type { DocumentReplica } from '@parley/shared/config-replica/replica-store'
import { prepareCollections } from '@parley/shared/prepare-collections'
import { inTransaction } from '@parley/shared/transaction'
import type { Connection, mongo } from 'mongoose'
import type { MessageRecord, MessageWords } from '../message/message-record.ts'
import type { NoticeRecord } from '../message/notice-record.ts'
import type { NoteRecord, ThreadRecord } from '../message/thread-record.ts'
import type { AccessTokenRecord, AuthorizationRecord } from './access-token-record.ts'
import type { AuditedMessage, AuditState, RemovedHour, UnreadableMessage } from './audit-records.ts'
import { LAYOUT_ID, type LayoutRecord } from './layout-record.ts'
import type { OpenIntake } from './open-intake.ts'
import type {
  SuppressionKey,
  SuppressionRecord,
  UnpublishedConsent,
  UnpublishedMove,
} from './suppression-records.ts'
import type { TemplateRecord } from './template-record.ts'
import type { TrafficRecord } from './traffic-records.ts'
import type { UsageEntry, UsageHour, UsageState, UsedTokens } from './usage-records.ts'

/** The lease of one partition, or of a task that one instance does for all. */
export interface PartitionLease {
  _id: number
  owner: string | null
  /** Counts owners: what an earlier owner wrote is recognised by its lower term. */
  term: number
  expiresAt: Date
  /** The work of its owner before `until` is in the threads; missing where all of it is. */
  threads?: { until: Date; retentionMs: number }
  /** Of the layout whose partition it is; missing in the first. */
  generation?: number
  /** Messages published before this time may be in this layout's queues and in those of the layout before. */
  repeatsUntil?: Date
  /** All that its queue had is stored, and nothing comes to it any more: nobody takes it again. */
  drained?: boolean
}

/** A live instance of the dispatcher. */
export interface Instance {
  _id: string
  seenAt: Date
  /** The same after a restart: no two live instances have it. */
  name?: string
  /** Of each status queue, by its number: the number of this instance's last marker that came back. */
  statusMarkers?: Record<string, number>
  /** True if it was connected to the broker when it was last seen. */
  hasBroker?: boolean
  /** Missing in an instance of a version that knows no slots and layouts. */
  slots?: true
}

/** A status that came before its provider's id of the send was stored. */
export interface EarlyStatus {
  _id: string
  /** Whom it came from. */
  source: string
  /** As it came, as JSON text. */
  status: string
  /** When it is looked at again. */
  due: Date
  /** How often it was, without finding its send. */
  tries: number
}

export interface Collections {
  messages: mongo.Collection<MessageRecord>
  /** Made of the messages, whose words they are. */
  messageWords: mongo.Collection<MessageWords>
  threads: mongo.Collection<ThreadRecord>
  notes: mongo.Collection<NoteRecord>
  partitions: mongo.Collection<PartitionLease>
  layouts: mongo.Collection<LayoutRecord>
  instances: mongo.Collection<Instance>
  openIntake: mongo.Collection<OpenIntake>
  replicas: mongo.Collection<DocumentReplica>
  /** The lease of the auditor. */
  auditors: mongo.Collection<PartitionLease>
  audit: mongo.Collection<AuditState>
  audited: mongo.Collection<AuditedMessage>
  rejected: mongo.Collection<UnreadableMessage>
  removed: mongo.Collection<RemovedHour>
  traffic: mongo.Collection<TrafficRecord>
  usage: mongo.Collection<UsageEntry>
  usageHours: mongo.Collection<UsageHour>
  usageState: mongo.Collection<UsageState>
  usedTokens: mongo.Collection<UsedTokens>
  notices: mongo.Collection<NoticeRecord>
  earlyStatuses: mongo.Collection<EarlyStatus>
  accessTokens: mongo.Collection<AccessTokenRecord>
  suppressions: mongo.Collection<SuppressionRecord>
  suppressionKeys: mongo.Collection<SuppressionKey>
  unpublishedConsent: mongo.Collection<UnpublishedConsent | UnpublishedMove>
  authorizations: mongo.Collection<AuthorizationRecord>
  templates: mongo.Collection<TemplateRecord>
}

/** The dispatcher's collections, on the native driver: the message path is batches of plain documents. */
export function collectionsOf(connection: Connection): Collections {
  const native = <T extends mongo.BSON.Document>(name: string) =>
    connection.collection<T>(name) as unknown as mongo.Collection<T>
  return {
    messages: native('messages'),
    messageWords: native('messageWords'),
    threads: native('threads'),
    notes: native('notes'),
    partitions: native('partitions'),
    layouts: native('layouts'),
    instances: native('copies'),
    openIntake: native('openIntake'),
    replicas: native('configured'),
    auditors: native('auditors'),
    audit: native('audit'),
    audited: native('audited'),
    rejected: native('rejected'),
    removed: native('removed'),
    traffic: native('traffic'),
    usage: native('usage'),
    usageHours: native('usageHours'),
    usageState: native('usageState'),
    usedTokens: native('usedTokens'),
    notices: native('notices'),
    earlyStatuses: native('earlyStatuses'),
    accessTokens: native('accessTokens'),
    suppressions: native('suppressions'),
    suppressionKeys: native('suppressionKeys'),
    unpublishedConsent: native('unpublishedConsent'),
    authorizations: native('authorizations'),
    templates: native('templates'),
  }
}

// The database removes what has expired.
const EXPIRING = { key: { expiresAt: 1 }, expireAfterSeconds: 0 } as const
const INSTANCE_FORGOTTEN_SECONDS = 60
const REMOVED_HOUR_RETENTION_SECONDS = 400 * 24 * 60 * 60
const USAGE_RETENTION_SECONDS = 5 * 366 * 24 * 60 * 60

/** The open messages of each thread, by sequence number; `lane` is set on those that others may pass. */
export const OPEN_INDEX = { partition: 1, workspace: 1, thread: 1, lane: 1, order: 1 } as const
/**
 * The messages of a workspace in some states, and with all states named those of a workspace, by the time of receipt. The
 * channel at its end lets states be counted from the index alone.
 */
export const STATE_INDEX = { workspace: 1, state: 1, receivedAt: -1, _id: -1, channel: 1 } as const

// 4 KB, not 16: each message has its entry in another place, so most pages are written for the sake of one.
const SMALL_PAGES = { wiredTiger: { configString: 'leaf_page_max=4KB' } }

/** Indexes by which support looks messages up; each has only the messages that have such a field. */
const SUPPORT_INDEXES = ['addresses', 'phone', 'fault', 'requestId', 'sends.providerId'].map((field) => ({
  key: { workspace: 1, [field]: 1, receivedAt: -1, _id: -1 } as const,
  partialFilterExpression: { [field]: { $exists: true } },
  storageEngine: SMALL_PAGES,
}))

/** The messages that wait for their time. */
export const SCHEDULED_INDEX = { workspace: 1, due: 1 } as const

const LATEST = { lastAt: -1, _id: -1 } as const
/** The index by which threads are searched. */
export const WORDS_INDEX = { workspace: 1, words: 1, ...LATEST } as const
export const ADDRESS_INDEX = { workspace: 1, addresses: 1, ...LATEST } as const
/** Without their activity: none of it moves with what happens in a thread. */
export const PHONE_ENDS_INDEX = { workspace: 1, phoneEnds: 1 } as const
/** Of threads that an earlier version wrote last. */
export const PHONE_INDEX = { workspace: 1, phone: 1, ...LATEST } as const
/** The name of the index that the open ones are listed by. */
export const STATUS_INDEX = 'threads_by_status'
/** The same of those in which the person wrote; those that only we wrote in may be a thousand times as many. */
export const WRITTEN_INDEX = 'threads_with_writers_by_status'
/** The index by which messages are searched. */
export const MESSAGE_WORDS_INDEX = { workspace: 1, words: 1, at: -1 } as const
/** Of messages that are to be removed some day: they have ended. */
export const RETENTION_INDEX = { expiresAt: 1, _id: 1 } as const
/** Threads are listed by their last activity; each of the others has only those threads that have such a field. */
const THREAD_INDEXES: mongo.IndexDescription[] = [
  { key: { workspace: 1, ...LATEST } },
  { key: { workspace: 1, channel: 1, ...LATEST } },
  { key: { workspace: 1, handler: 1, ...LATEST }, partialFilterExpression: { handler: 'person' } },
  { key: { workspace: 1, ...LATEST, unread: 1 }, partialFilterExpression: { unread: { $gt: 0 } } },
  {
    key: { workspace: 1, 'assignee._id': 1, ...LATEST },
    partialFilterExpression: { 'assignee._id': { $exists: true } },
  },
  {
    key: { workspace: 1, 'team._id': 1, ...LATEST },
    partialFilterExpression: { 'team._id': { $exists: true } },
  },
  { key: { workspace: 1, labels: 1, ...LATEST }, partialFilterExpression: { labels: { $exists: true } } },
  // Also of those that are open, which have no such field.
  { key: { workspace: 1, 'closed.status': 1, ...LATEST }, name: STATUS_INDEX },
  {
    key: { workspace: 1, 'closed.status': 1, ...LATEST },
    name: WRITTEN_INDEX,
    partialFilterExpression: { lastInboundAt: { $exists: true } },
  },
  { key: WORDS_INDEX, partialFilterExpression: { words: { $exists: true } } },
  { key: ADDRESS_INDEX, partialFilterExpression: { addresses: { $exists: true } } },
  { key: PHONE_ENDS_INDEX, partialFilterExpression: { phoneEnds: { $exists: true } } },
  { key: PHONE_INDEX, partialFilterExpression: { phone: { $exists: true } } },
  {
    key: { workspace: 1, 'campaign._id': 1, lastInboundAt: 1 },
    partialFilterExpression: { 'campaign._id': { $exists: true } },
  },
  {
    key: { workspace: 1, 'handedOff.at': 1 },
    partialFilterExpression: { 'handedOff.at': { $exists: true } },
  },
  EXPIRING,
]

/** Indexes of earlier versions; the first would remove messages that are still counted. */
const OUTDATED: Partial<Record<keyof Collections, string[]>> = {
  messages: [
    'expiresAt_1',
    'partition_1_workspace_1_thread_1_order_1',
    'workspace_1_state_1_receivedAt_-1__id_-1',
    'workspace_1_receivedAt_-1__id_-1',
  ],
  // It had those alone that are resolved or snoozed.
  threads: ['workspace_1_closed.status_1_lastAt_-1__id_-1'],
}

const INDEXES: Partial<Record<keyof Collections, mongo.IndexDescription[]>> = {
  messages: [
    { key: OPEN_INDEX, partialFilterExpression: { open: true } },
    { key: STATE_INDEX },
    { key: { workspace: 1, channel: 1, receivedAt: -1, _id: -1 } },
    { key: { workspace: 1, thread: 1, receivedAt: -1, _id: -1 }, storageEngine: SMALL_PAGES },
    ...SUPPORT_INDEXES,
    { key: SCHEDULED_INDEX, partialFilterExpression: { waitingFor: 'schedule' } },
    // Not removed by the database: they leave together with their places in the count.
    { key: RETENTION_INDEX, partialFilterExpression: { expiresAt: { $exists: true } } },
  ],
  messageWords: [{ key: MESSAGE_WORDS_INDEX, storageEngine: SMALL_PAGES }, EXPIRING],
  threads: THREAD_INDEXES,
  notes: [{ key: { workspace: 1, thread: 1, channel: 1, at: -1, _id: -1 } }, EXPIRING],
  instances: [{ key: { seenAt: 1 }, expireAfterSeconds: INSTANCE_FORGOTTEN_SECONDS }],
  replicas: [
    { key: { workspace: 1, resource: 1, extIdHash: 1 } },
    {
      key: { workspace: 1, resource: 1, ownerHash: 1 },
      partialFilterExpression: { ownerHash: { $exists: true } },
    },
    EXPIRING,
  ],
  accessTokens: [{ key: { removedAt: 1 }, expireAfterSeconds: 0 }],
  authorizations: [{ key: { workspace: 1, action: 1, account: 1 } }, EXPIRING],
  audited: [
    { key: { workspace: 1, hour: 1, channel: 1, place: 1 } },
    // Of the places, those before 'stored' by name: the few that are missing, rejected or erased.
    { key: { place: 1, hour: 1 }, partialFilterExpression: { place: { $lt: 'stored' } } },
    { key: { workspace: 1, place: 1, hour: 1 }, partialFilterExpression: { place: { $lt: 'stored' } } },
  ],
  rejected: [EXPIRING],
  removed: [
    { key: { hour: 1 }, expireAfterSeconds: REMOVED_HOUR_RETENTION_SECONDS },
    { key: { workspace: 1, hour: 1 } },
  ],
  traffic: [{ key: { workspace: 1, span: 1, at: 1 } }, EXPIRING],
  usage: [{ key: { workspace: 1, at: 1 } }, { key: { at: 1 } }],
  usageHours: [
    { key: { workspace: 1, at: 1 } },
    { key: { at: 1 }, expireAfterSeconds: USAGE_RETENTION_SECONDS },
  ],
  usedTokens: [EXPIRING],
  earlyStatuses: [{ key: { due: 1 } }],
  suppressions: [EXPIRING],
  unpublishedConsent: [{ key: { at: 1 } }],
  notices: [{ key: { workspace: 1, channelId: 1, receivedAt: -1, _id: -1 } }, EXPIRING],
}

/** Makes collections and indexes, and where there is none the layout, of so many partitions; harmless when they are there. */
export async function prepareDatabase(connection: Connection, partitions: number): Promise<void> {
  const collections = collectionsOf(connection)
  const named = <T>(by: Partial<Record<keyof Collections, T[]>>) =>
    Object.fromEntries(
      Object.entries(collections).map(([of, { collectionName }]) => [
        collectionName,
        by[of as keyof Collections] ?? [],
      ]),
    )
  await prepareCollections(connection, named(INDEXES), { outdated: named(OUTDATED) })
  if (!(await has(collections.audit, 'log')))
    await collections.audit.updateOne({ _id: 'log' }, { $setOnInsert: { term: 0 } }, { upsert: true })
  if (!(await has(collections.layouts, LAYOUT_ID))) await makeLayout(connection, { collections, partitions })
  if (!(await has(collections.auditors, 0))) await makeLeases(collections.auditors, { count: 1 })
}

/** True if there is such a document, which no failover takes back. */
async function has<I, T extends { _id: I }>(collection: mongo.Collection<T>, _id: I): Promise<boolean> {
  const filter = { _id } as mongo.Filter<T>
  return (await collection.findOne(filter, { projection: { _id: 1 }, readConcern: 'majority' })) !== null
}

/**
 * The first instance that ever starts makes layout and leases, and no later one adds leases, which might be those of a
 * layout that was replaced meanwhile. A database of a version without layouts has leases, whose number stays.
 */
async function makeLayout(
  connection: Connection,
  { collections, partitions }: { collections: Collections; partitions: number },
): Promise<void> {
  const startSession = () => connection.getClient().startSession()
  await inTransaction({ startSession }, async (session) => {
    if ((await collections.layouts.findOne({ _id: LAYOUT_ID }, { session })) !== null) return
    const leases = await collections.partitions.countDocuments({}, { session })
    const first: LayoutRecord = { _id: LAYOUT_ID, generation: 1, partitions }
    // Instances of that version may still be there, and their auditor counts nothing that has a slot's key.
    await collections.layouts.insertOne(
      leases > 0 ? { ...first, partitions: leases, earlierKeys: true } : { ...first, isAnnounced: true },
      { session },
    )
    if (leases === 0) await makeLeases(collections.partitions, { count: partitions, session })
  })
}

async function makeLeases(
  leases: mongo.Collection<PartitionLease>,
  { count, session }: { count: number; session?: mongo.ClientSession },
): Promise<void> {
  await leases.bulkWrite(
    Array.from({ length: count }, (_, _id) => ({
      updateOne: {
        filter: { _id },
        update: { $setOnInsert: { owner: null, term: 0, expiresAt: new Date(0) } },
        upsert: true,
      },
    })),
    session === undefined ? {} : { session },
  )
}
