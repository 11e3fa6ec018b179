import { group } from '@parley/shared/group'
import type { Log } from '@parley/shared/log'
import { messageStatus, STATUS_TYPE } from '@parley/shared/message-status'
import { type Consumer, consumeBatches } from '@parley/shared/messaging/consumer'
import type { ConsumerOptions, DeadLetter } from '@parley/shared/messaging/deliveries'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { STATUS_QUEUES } from '@parley/shared/messaging/topology'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import type { ConsumeMessage } from 'amqplib'
import type { MessageRecord, Progress, Send, SendState } from '../message/message-record.ts'
import { nextToSend, withEntry } from '../message/progress.ts'
import { later, stateOfSends } from '../message/send-state.ts'
import { type Metrics, observeLatency } from '../metrics/metrics.ts'
import type { Collections } from '../store/collections.ts'
import type { Committer } from '../store/commit.ts'
import type { Traffic } from '../store/traffic.ts'
import { markerOf, noteMarkers, type StatusMarker } from './status-marker.ts'

/** Of a queue, not acked yet. With 100 all queues together would pass on 4,000 a second at most, as they are gathered. */
const PREFETCH = 500

const MAX_ROUNDS = 20
/** Messages that are read at once: each is whole in memory, with its turns. */
const READ_AT_ONCE = 100
/** A send's statuses come right behind each other, and behind the response, which is to be stored first. */
const GATHER_MS = 100

/** What applying statuses takes. */
interface StatusOptions {
  collections: Pick<Collections, 'messages' | 'instances'>
  committer: Committer
  metrics: Pick<Metrics, 'sent' | 'delivered'>
  traffic: Pick<Traffic, 'moved'>
}

/**
 * Makes the worker of the provider's statuses: each batch, with those of the other queues within 100 ms, is applied to
 * the messages it is about. One that somebody else writes at the same moment is read and applied again. Returns those
 * that can't be read; rejects while the database is unavailable.
 */
export function workStatuses(options: StatusOptions) {
  const { collections } = options
  const apply = group<KnownStatus[], void>({
    work: async (batches) => {
      const known = Map.groupBy(batches.flat(), ({ messageId }) => messageId)
      const waiting = [...known]
      while (waiting.length > 0) await applyAll(options, new Map(waiting.splice(0, READ_AT_ONCE)))
      return batches.map(() => undefined)
    },
    gatherMs: GATHER_MS,
    gathersAtRest: true,
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

async function applyAll(
  { collections, committer, metrics, traffic }: StatusOptions,
  known: Map<string, KnownStatus[]>,
): Promise<void> {
  let waiting = known
  for (let round = 0; waiting.size > 0; round++) {
    if (round === MAX_ROUNDS) throw new Error('statuses could not be applied')
    const records = await collections.messages.find({ _id: { $in: [...waiting.keys()] } }).toArray()
    const left: typeof waiting = new Map()
    await Promise.all(
      records.map(async (record) => {
        const found = waiting.get(record._id) ?? []
        const progress = applyStatuses(record, statusesOf(found, record.workspace))
        if (progress === undefined) return
        if (!(await committer.commit(record, progress))) return void left.set(record._id, found)
        const change = { from: record.state, to: progress.state, at: Date.now() }
        observeLatency(metrics, record, change)
        traffic.moved(record, change)
      }),
    )
    waiting = left
  }
}

/** A status of one send, from the provider. */
export interface SendStatus {
  /** The send's position in its message. */
  index: number
  state: Extract<SendState, 'sent' | 'delivered' | 'read' | 'failed'>
  providerId: string
  at: Date
  /** Why it failed, in the provider's words. */
  reason?: string
}

/**
 * A message's progress after statuses of its sends, or undefined when they say nothing new. Statuses move forward
 * only. For a message still in the pipeline, a status of the send that comes next settles it: it is no longer waited
 * for. One of another send leaves the wait as it is.
 */
export function applyStatuses(record: MessageRecord, statuses: SendStatus[]): Progress | undefined {
  const sends = statuses.reduce(withStatus, record.sends)
  if (sends === record.sends) return undefined
  const { state, tries, timeline, attempts, open, answer, reason, fault, expiresAt, due, waitingFor } = record
  const optional = { answer, reason, fault, expiresAt, due, waitingFor }
  const defined = Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined))
  const progress: Progress = { state, tries, timeline, attempts, sends, ...defined }
  if (open === true) {
    const next = nextToSend(record.sends)
    if (next === undefined || sends[next] === record.sends[next]) return { ...progress, open }
    const { due: _due, waitingFor: _for, ...now } = progress
    // What was tried without success was the send that is settled now.
    return { ...now, open, tries: 0 }
  }
  const end = endedAs({ record, sends, statuses })
  if (end === undefined) return progress
  const { reason: _reason, fault: _fault, ...before } = progress
  return { ...before, ...end }
}

/**
 * What an ended message's state becomes; undefined where it stays as it is. A dead message leaves that state when all of
 * its sends turn out to have been taken, and nothing of its failure stays.
 */
function endedAs(options: {
  record: MessageRecord
  sends: Send[]
  statuses: SendStatus[]
}): Partial<Progress> | undefined {
  const { record, sends, statuses } = options
  if (nextToSend(sends) !== undefined || record.ending !== undefined) return undefined
  const state = stateOfSends(sends)
  if (state === record.state) return undefined
  const last = statuses.at(-1)
  const reason = state === 'failed' ? { reason: last?.reason ?? 'The provider says that it failed.' } : {}
  const fault = state === 'failed' ? { fault: 'provider' as const } : {}
  const entry = { at: last?.at ?? record.updatedAt, state, ...reason }
  return { state, ...reason, ...fault, timeline: withEntry(record.timeline, entry) }
}

function withStatus(sends: Send[], status: SendStatus): Send[] {
  const { index, state, providerId } = status
  const send = sends[index]
  if (send === undefined || later(send.state, state) === send.state) return sends
  if (isOfEarlierAttempt(send, status)) return sends
  return sends.map((one) => (one === send ? { ...one, state, providerId } : one))
}

/**
 * What is sent again has the provider's id of the attempt that failed until the next one is taken: that it was sent, or
 * failed, is old then, unlike that it was delivered after all.
 */
function isOfEarlierAttempt(send: Send, { state, providerId }: SendStatus): boolean {
  const isSentAgain = send.state === 'pending' || send.state === 'claimed'
  return isSentAgain && send.providerId === providerId && (state === 'sent' || state === 'failed')
}

/** A status from another workspace's webhook can't be about this message. */
function statusesOf(found: KnownStatus[], owner: number): SendStatus[] {
  return found.filter(({ workspace }) => workspace === owner).map(({ status }) => status)
}

/** A status of a send of one of our messages. */
interface KnownStatus {
  messageId: string
  workspace: number
  status: SendStatus
}

type StatusReading =
  | { kind: 'known'; known: KnownStatus }
  | { kind: 'marker'; marker: StatusMarker }
  /** It is of no use here: of a send that is not ours, or of a state that we don't follow. */
  | { kind: 'ignored' }
  | { kind: 'rejected'; reason: string }

const FOLLOWED = new Set(['sent', 'delivered', 'read', 'failed'])
/** A send's id: its message's id and its position. */
const SEND_ID = /^(.{1,128}):(\d{1,5})$/

/** Reads a delivery of the status queue. */
export function readStatus(delivery: Pick<ConsumeMessage, 'content' | 'properties'>): StatusReading {
  const { properties, content } = delivery
  if (properties.type !== STATUS_TYPE) {
    return { kind: 'rejected', reason: `unknown message type ${JSON.stringify(properties.type)}` }
  }
  const parsed = messageStatus.safeParse(jsonOrUndefined(content.toString()))
  if (!parsed.success) {
    return { kind: 'rejected', reason: `body field /${parsed.error.issues[0]?.path.join('/')} is wrong` }
  }
  const marker = markerOf(parsed.data)
  if (marker !== undefined) return { kind: 'marker', marker }
  const { workspace, opaque, status, providerId, at, errors } = parsed.data
  const [, messageId, index] = SEND_ID.exec(opaque ?? '') ?? []
  if (messageId === undefined || !FOLLOWED.has(status)) return { kind: 'ignored' }
  const [error] = errors ?? []
  const reason =
    error === undefined ? {} : { reason: `The provider says that it failed, with code ${error.code}.` }
  const state = status as SendStatus['state']
  const known = {
    messageId,
    workspace,
    status: { index: Number(index), state, providerId, at: new Date(at), ...reason },
  }
  return { kind: 'known', known }
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
