import type { mongo } from 'mongoose'
import { every, pause } from '../every.ts'
import type { Log } from '../log.ts'
import { createRelayState, type RelayState, type StartingPoint, type StoredRelay } from './relay-state.ts'

const RENEW_MS = 3_000
const RETRY_MS = 1_000
/** A relay that nobody needs looks this often whether there is a position to forget. */
const FORGET_MS = 5_000
/** So long MongoDB waits before it answers that nothing was written; a write it answers at once. */
const MAX_WAIT_MS = 1_000
// The place moves on with every write to the database, also where none of them concerns the relay.
const SAVE_IDLE_MS = 10_000
/** The oplog has moved on, or the token is of another history: what was missed can't be read any more. */
const LOST_CODES = [222, 260, 280, 286]
const BATCH = 100
const GATHER_MS = 20
const MAX_PAUSE_MS = 5_000

type Event = mongo.Document

export interface Relay {
  /** How long ago the oldest write was that is being dealt with, in seconds; 0 when there is none. */
  lagSeconds(): number
  /** Finishes the current batch and releases the lease for another instance. */
  close(): Promise<void>
}

interface RelayOptions<Change extends { at?: Date | undefined }> {
  /** Names the lease and the place; relays of other names run concurrently. */
  name: string
  log: Log
  /** Resolves when the database can be used. */
  ready: Promise<unknown>
  db(): mongo.Db
  relays(): mongo.Collection<StoredRelay>
  /** Which writes it follows, as stages of the change stream. */
  stages: mongo.Document[]
  /** Changes come with what the document was before. */
  withBefore?: boolean
  changeOf(event: Event): Change
  /** Changes to deal with once where the position is not known: after `since`, where one was known once. */
  snapshot(since: Date | undefined): AsyncIterable<Change[]>
  /** True while anybody needs its changes; while nobody does it rests, and forgets its position. Always, when left out. */
  isNeeded?(): boolean
  /**
   * Between batches that are not full, so that under load each brings more; what comes after a pause is handled at once. 20
   * when left out.
   */
  gatherMs?: number
  /** The most changes that are handled at once; 100 when left out. */
  batch?: number
  /**
   * After each batch it pauses so many times as long as the batch took, 5 s at most: whoever needs its changes less than others need the
   * machine leaves it to them. Not at all when left out.
   */
  pauseShare?: number
  /** Deals with a batch of changes in order. They may come again, and after a gap those of the snapshot come. */
  handle(changes: Change[], isLeased: () => boolean): Promise<void>
  /** Does further work under the lease, when no change has come for a second. */
  idle?(isLeased: () => boolean): Promise<void>
}

/**
 * Follows writes by a change stream, in one instance of the service at a time. How far it got is stored after each batch;
 * what fails is tried again from there, each second.
 */
export function startRelay<Change extends { at?: Date | undefined }>(options: RelayOptions<Change>): Relay {
  const { name, log, relays } = options
  const state = createRelayState({ relays, name })
  let oldest: Date | undefined
  const handle: RelayOptions<Change>['handle'] = async (changes, isLeased) => {
    oldest ??= changes[0]?.at
    await options.handle(changes, isLeased)
    // After a full batch there is more, also while it pauses.
    oldest = changes.length < (options.batch ?? BATCH) ? undefined : changes.at(-1)?.at
  }
  const idle: RelayOptions<Change>['idle'] = async (isLeased) => {
    oldest = undefined
    await options.idle?.(isLeased)
  }
  const closing = Promise.withResolvers<void>()
  const started = Promise.race([options.ready, closing.promise])
  let forgottenAt = Number.NEGATIVE_INFINITY
  const rest = async () => {
    if (performance.now() < forgottenAt + FORGET_MS || !(await state.lease.acquire())) return
    await state.forgetPlace()
    forgottenAt = performance.now()
  }
  const following = every({
    pauseMs: RETRY_MS,
    run: async (signal) => {
      await started
      if (signal.aborted) return
      if (!isNeeded(options)) return rest()
      forgottenAt = Number.NEGATIVE_INFINITY
      if (await state.lease.acquire()) await runUnderLease({ ...options, handle, idle }, state, signal)
    },
    failed: ({ message: reason }) =>
      log.warn(
        { relay: name, reason },
        'relay interrupted: it continues from its stored position in a second',
      ),
  })
  return {
    lagSeconds: () => (oldest === undefined ? 0 : Math.max(0, (Date.now() - oldest.getTime()) / 1_000)),
    close: async () => {
      closing.resolve()
      await following.stop()
      if (!state.lease.isValid()) return
      await state.lease
        .release()
        .catch(() =>
          log.warn({ relay: name }, 'relay lease not released: another instance takes over when it expires'),
        )
    },
  }
}

const isNeeded = ({ isNeeded = () => true }: Pick<RelayOptions<never>, 'isNeeded'>): boolean => isNeeded()

async function runUnderLease<Change extends { at?: Date | undefined }>(
  options: RelayOptions<Change>,
  state: RelayState,
  signal: AbortSignal,
): Promise<void> {
  // After failed renewals the lease is not valid any more once it runs out.
  const renewing = every({ pauseMs: RENEW_MS, run: state.lease.acquire, failed: () => undefined })
  try {
    await follow(options, state, signal)
  } catch (error) {
    // A pending wait is broken off at the end.
    if (signal.aborted) return
    if (!LOST_CODES.includes(Number((error as { code?: unknown }).code))) throw error
    options.log.warn(
      { relay: options.name },
      'relay position is no longer in the oplog: what is there is handled once again',
    )
    await state.savePlace(undefined)
  } finally {
    await renewing.stop()
  }
}

async function follow<Change extends { at?: Date | undefined }>(
  options: RelayOptions<Change>,
  state: RelayState,
  signal: AbortSignal,
): Promise<void> {
  const { gatherMs = GATHER_MS, batch = BATCH, pauseShare = 0 } = options
  const isLeased = () => state.lease.isValid() && !signal.aborted
  const from = await startingPoint(options, state, isLeased)
  if (from === undefined) return
  const stream = openChangeStream(options, from)
  const breakOff = () => void stream.close().catch(() => undefined)
  signal.addEventListener('abort', breakOff)
  let savedAt = Number.NEGATIVE_INFINITY
  try {
    while (isLeased() && isNeeded(options)) {
      const changes = (await nextEvents(stream, batch)).map(options.changeOf)
      const startedAt = performance.now()
      if (changes.length > 0) await options.handle(changes, isLeased)
      else await options.idle?.(isLeased)
      if (changes.length === 0 && performance.now() < savedAt + SAVE_IDLE_MS) continue
      await state.savePlace({ resumeAfter: stream.resumeToken })
      savedAt = performance.now()
      if (changes.length === 0) continue
      const workedMs = performance.now() - startedAt
      const pauseMs = Math.max(
        changes.length < batch ? gatherMs : 0,
        Math.min(workedMs * pauseShare, MAX_PAUSE_MS),
      )
      if (pauseMs > 0) await pause(pauseMs, signal)
    }
  } finally {
    signal.removeEventListener('abort', breakOff)
    await stream.close()
  }
}

/** Where to go on; without a stored place, now, after the snapshot has been dealt with. */
async function startingPoint<Change extends { at?: Date | undefined }>(
  options: RelayOptions<Change>,
  state: RelayState,
  isLeased: () => boolean,
): Promise<StartingPoint | undefined> {
  const { from, savedAt } = await state.place()
  if (from !== undefined) return from
  const { operationTime } = await options.db().command({ ping: 1 })
  for await (const changes of options.snapshot(savedAt)) {
    if (!isLeased()) return undefined
    await options.handle(changes, isLeased)
  }
  return { startAtOperationTime: operationTime }
}

/** An event over 16 MiB comes in fragments. */
function openChangeStream<Change extends { at?: Date | undefined }>(
  { db, stages, withBefore, batch = BATCH }: RelayOptions<Change>,
  from: StartingPoint,
): mongo.ChangeStream<Event, Event> {
  return db().watch<Event, Event>([...stages, { $changeStreamSplitLargeEvent: {} }], {
    ...from,
    maxAwaitTimeMS: MAX_WAIT_MS,
    batchSize: batch,
    ...(withBefore ? { fullDocumentBeforeChange: 'whenAvailable' as const } : {}),
  })
}

/** The events of one batch of the database's, at most `batch`; none when nothing happened for a second. */
async function nextEvents(stream: mongo.ChangeStream<Event, Event>, batch: number): Promise<Event[]> {
  const events: Event[] = []
  do {
    const event = await nextEvent(stream)
    if (event === undefined) break
    events.push(event)
  } while (events.length < batch && stream.bufferedCount() > 0)
  return events
}

async function nextEvent(stream: mongo.ChangeStream<Event, Event>): Promise<Event | undefined> {
  let event: Event | undefined
  for (;;) {
    const next = await stream.tryNext()
    if (next === null && event === undefined) return undefined
    if (next === null) continue
    event = { ...event, ...next }
    if (next.splitEvent === undefined || next.splitEvent.fragment === next.splitEvent.of) return event
  }
}
