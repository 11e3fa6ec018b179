import type { Replica } from '@parley/shared/config-replica/replica'
import { group } from '@parley/shared/group'
import { insertNew } from '@parley/shared/insert-new'
import type { Log } from '@parley/shared/log'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions, DeadLetter } from '@parley/shared/messaging/deliveries'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { STATUS_QUEUES } from '@parley/shared/messaging/topology'
import type { ConsumeMessage } from 'amqplib'
import type { RecordConsent } from '../consent/record-consent.ts'
import { refusalOf } from '../deliver/consent.ts'
import type { MessageRecord, Progress } from '../message/message-record.ts'
import { isResumable } from '../message/progress.ts'
import { type Metrics, observeLatency } from '../metrics/metrics.ts'
import { publishReplay } from '../schedule/publish-replay.ts'
import type { Collections } from '../store/collections.ts'
import type { Committer } from '../store/commit.ts'
import type { Traffic } from '../store/traffic.ts'
import { pricingEntry } from '../store/usage-records.ts'
import { applyStatuses, type SendStatus } from './apply-statuses.ts'
import { findSends } from './find-sends.ts'
import { type KnownStatus, readStatus } from './read-status.ts'
import { noteMarkers, type StatusMarker } from './status-marker.ts'

/** Of a queue, not acked yet. With 100 all queues together would pass on 4,000 a second at most, as they are gathered. */
const PREFETCH = 500

const MAX_ROUNDS = 20
/** Messages that are read at once: each is whole in memory, with its turns. */
const READ_AT_ONCE = 100
/** A send's statuses come right behind each other, and behind the response, which is to be stored first. */
const GATHER_MS = 100
/** When one whose send is not known yet is looked at again. */
const EARLY_MS = 1_000

/** The dependencies of applying statuses. */
export interface StatusOptions {
  collections: Pick<Collections, 'messages' | 'instances' | 'earlyStatuses' | 'usage'>
  committer: Committer
  metrics: Pick<Metrics, 'sent' | 'delivered'>
  traffic: Pick<Traffic, 'moved'>
  replica: Pick<Replica, 'find'>
  recordConsent: RecordConsent
  /** Of the requests to send again what failed. */
  publisher: Pick<Publisher, 'publish'>
}

/**
 * Makes the worker of the provider's statuses: each batch, with those of the other queues within 100 ms, is applied to
 * the messages it is about. One that somebody else writes at the same moment is read and applied again; one whose send
 * is not known by the provider's id yet is stored, and looked at again for a while. Returns those that can't be read;
 * rejects while the database is unavailable.
 */
export function workStatuses(options: StatusOptions) {
  const { collections } = options
  const apply = group<KnownStatus[], void>({
    work: async (batches) => {
      await storeEarly(collections, await applyKnown(options, batches.flat()))
      return batches.map(() => undefined)
    },
    inNoHurry: { milliseconds: GATHER_MS, before: 'first' },
    atOnce: 1,
  })
  return async (batch: ConsumeMessage[]): Promise<DeadLetter[]> => {
    const dead: DeadLetter[] = []
    const known: KnownStatus[] = []
    const markers: StatusMarker[] = []
    for (const delivery of batch) {
      const reading = readStatus(delivery)
      if (reading.kind === 'rejected') dead.push({ delivery, reason: reading.reason })
      else if (reading.kind === 'known') known.push(reading.known)
      else if (reading.kind === 'marker') markers.push(reading.marker)
    }
    if (known.length > 0) await apply(known)
    // Last, for a marker says that what was queued before it is applied.
    await noteMarkers(collections.instances, markers)
    return dead
  }
}

function storeEarly(
  { earlyStatuses }: Pick<Collections, 'earlyStatuses'>,
  early: readonly KnownStatus[],
): Promise<unknown> {
  const due = new Date(Date.now() + EARLY_MS)
  const stored = early.map(({ id: _id, source, reported }) => ({
    ...{ _id, source, due, tries: 0 },
    status: JSON.stringify(reported),
  }))
  return insertNew(earlyStatuses, stored)
}

/** Applies statuses, and returns those that are of no send that is known. */
export async function applyKnown(options: StatusOptions, known: KnownStatus[]): Promise<KnownStatus[]> {
  const byOwnId = known.flatMap((one) => (one.send === undefined ? [] : [{ ...one, send: one.send }]))
  const others = await applyToSends(options, byOwnId)
  const unnamed = [...known.filter(({ send }) => send === undefined), ...others]
  if (unnamed.length === 0) return []
  const { found, unknown } = await findSends(options, unnamed)
  await applyToSends(options, found)
  return unknown
}

type Located = KnownStatus & { send: { messageId: string; index: number } }

/** Returns those whose send is not there. */
async function applyToSends(options: StatusOptions, located: readonly Located[]): Promise<Located[]> {
  const waiting = [...Map.groupBy(located, ({ send }) => send.messageId)]
  const absent: Located[] = []
  while (waiting.length > 0) {
    const some = new Map(waiting.splice(0, READ_AT_ONCE))
    absent.push(...(await applyAll(options, some)))
  }
  return absent
}

async function applyAll(options: StatusOptions, known: Map<string, Located[]>): Promise<Located[]> {
  const { collections, committer, metrics, traffic, publisher } = options
  const absent = new Map(known)
  let waiting = known
  for (let round = 0; waiting.size > 0; round++) {
    if (round === MAX_ROUNDS) throw new Error('statuses could not be applied')
    const records = await collections.messages.find({ _id: { $in: [...waiting.keys()] } }).toArray()
    const changes = records.map((record) => {
      const found = waiting.get(record._id) ?? []
      const [own, others] = partition(found, (one) => isOf(record, one))
      if (others.length > 0) absent.set(record._id, others)
      else absent.delete(record._id)
      return { record, found, progress: applyStatuses(record, own.map(statusOf)) }
    })
    await addPricing(collections, changes)
    await noteOptOuts(options, changes)
    const left: typeof waiting = new Map()
    await Promise.all(
      changes.map(async ({ record, found, progress }) => {
        if (progress !== undefined && !(await committer.commit(record, progress)))
          return void left.set(record._id, found)
        const after = { ...record, ...progress }
        if (after.open !== true && isResumable(after))
          await publishReplay(publisher, record, { onlyFailed: true })
        if (progress === undefined) return
        const change = { from: record.state, to: progress.state, at: Date.now() }
        observeLatency(metrics, record, change)
        traffic.moved(record, change)
      }),
    )
    waiting = left
  }
  return [...absent.values()].flat()
}

/** Before a status is applied that says that a person wants no marketing, that is stored. */
async function noteOptOuts(
  { recordConsent }: Pick<StatusOptions, 'recordConsent'>,
  changes: readonly { record: MessageRecord; found: readonly Located[] }[],
): Promise<void> {
  const events = changes.flatMap(({ record, found }) =>
    found.flatMap((one) => {
      const { failure, at } = one.status
      const isOptOut = failure?.kind === 'permanent' && failure.isOptOut === true && isOf(record, one)
      return isOptOut ? refusalOf(record, { id: `${one.send.messageId}:${one.send.index}`, at }) : []
    }),
  )
  if (events.length > 0) await recordConsent(events)
}

/** A status from another workspace's webhook can't be about this message. */
const isOf = ({ workspace, sends }: MessageRecord, status: Located): boolean =>
  status.workspace === workspace && sends[status.send.index] !== undefined

const statusOf = ({ status, send }: Located): SendStatus => ({ ...status, index: send.index })

function partition<T>(all: readonly T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))]
}

/** Before it is stored with the send: what is added up a second time has the same id. */
async function addPricing(
  { usage }: Pick<Collections, 'usage'>,
  changes: readonly { record: MessageRecord; progress: Progress | undefined }[],
): Promise<void> {
  const at = new Date()
  const entries = changes.flatMap(({ record, progress }) =>
    (progress?.sends ?? []).flatMap(({ pricing }, index) =>
      pricing === undefined || pricing === record.sends[index]?.pricing
        ? []
        : [pricingEntry(record, { pricing, at })],
    ),
  )
  await insertNew(usage, entries)
}

/** Makes the consumers of the provider's statuses, by their queues; all apply them together. */
export function statusConsumers(
  options: StatusOptions &
    Pick<ConsumerOptions, 'declare'> & { deadLetters: Pick<Publisher, 'publish'>; log: Log },
): Map<string, Consumer> {
  const { deadLetters, declare, log } = options
  const work = workStatuses(options)
  return new Map(
    STATUS_QUEUES.map((queue) => [
      queue,
      consumeBatches({ queue, prefetch: PREFETCH, work, deadLetters, declare, log }),
    ]),
  )
}
