import { every } from '@parley/shared/every'
import type { Log } from '@parley/shared/log'
import { allResources } from '../resources/all-resources.ts'
import type { Database } from '../store/database.ts'
import {
  createRelayState,
  type RelayName,
  type RelayState,
  type StartingPoint,
} from '../store/relay-state.ts'
import { type DocumentWrite, nextChanges, openChangeStream } from './change-stream.ts'

const RENEW_MS = 3_000
const RETRY_MS = 1_000
// The place moves on with every write to the database, also where none of them concerns the relay.
const SAVE_IDLE_MS = 10_000
/** The oplog has moved on, or the token is of another history: what was missed can't be read any more. */
const LOST_CODES = [222, 260, 280, 286]
const BATCH = 100

export interface Relay {
  /** How long ago the oldest write was that is being dealt with, in seconds; 0 when there is none. */
  lagSeconds(): number
  /** Finishes the current batch and releases the lease for another instance. */
  close(): Promise<void>
}

interface RelayOptions {
  /** Names the lease and the place; relays of other names run concurrently. */
  name: RelayName
  database: Database
  log: Log
  /** Whether changes come with what the document was before. */
  withBefore: boolean
  /** Deals with changes in order. They may come again, and after a gap every document comes once. */
  handle(changes: DocumentWrite[]): Promise<void>
}

/**
 * Follows every write, in one instance of the service at a time. How far it got is stored after each batch; what
 * fails is tried again from there, each second.
 */
export function startRelay(options: RelayOptions): Relay {
  const { name, database, log } = options
  const state = createRelayState({ relays: database.relays, name })
  let oldest: Date | undefined
  const handle: RelayOptions['handle'] = async (changes) => {
    oldest ??= changes[0]?.at
    await options.handle(changes)
    oldest = undefined
  }
  const closing = Promise.withResolvers<void>()
  const started = Promise.race([database.ready, closing.promise])
  const following = every({
    pauseMs: RETRY_MS,
    run: async (signal) => {
      await started
      if (!signal.aborted && (await state.lease.acquire()))
        await runUnderLease({ ...options, handle }, state, signal)
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

async function runUnderLease(options: RelayOptions, state: RelayState, signal: AbortSignal): Promise<void> {
  // After failed renewals the lease is not valid any more once it runs out.
  const renewing = every({ pauseMs: RENEW_MS, run: state.lease.acquire, failed: () => undefined })
  try {
    await follow(options, state, () => state.lease.isValid() && !signal.aborted)
  } catch (error) {
    if (!LOST_CODES.includes(Number((error as { code?: unknown }).code))) throw error
    options.log.warn(
      { relay: options.name },
      'relay position is no longer in the oplog: every document is handled once again',
    )
    await state.savePlace(undefined)
  } finally {
    await renewing.stop()
  }
}

async function follow(options: RelayOptions, state: RelayState, goesOn: () => boolean): Promise<void> {
  const from = await startingPoint(options, state, goesOn)
  if (from === undefined) return
  const stream = openChangeStream(options.database.connected(), { from, withBefore: options.withBefore })
  let savedAt = 0
  try {
    while (goesOn()) {
      const changes = await nextChanges(stream)
      if (changes.length > 0) await options.handle(changes)
      else if (performance.now() < savedAt + SAVE_IDLE_MS) continue
      await state.savePlace({ resumeAfter: stream.resumeToken })
      savedAt = performance.now()
    }
  } finally {
    await stream.close()
  }
}

/** Where to go on; without a stored place, now, after all there is has been dealt with once. */
async function startingPoint(
  options: RelayOptions,
  state: RelayState,
  goesOn: () => boolean,
): Promise<StartingPoint | undefined> {
  const stored = await state.place()
  if (stored !== undefined) return stored
  const { operationTime } = await options.database.connected().command({ ping: 1 })
  for await (const changes of snapshot(options.database)) {
    if (!goesOn()) return undefined
    await options.handle(changes)
  }
  return { startAtOperationTime: operationTime }
}

/** Every document there is as its last change, deleted ones included, at most 100 at a time. */
async function* snapshot(database: Pick<Database, 'documents'>): AsyncGenerator<DocumentWrite[]> {
  for (const { name: resource } of allResources) {
    let changes: DocumentWrite[] = []
    for await (const stored of database.documents(resource).find().batchSize(BATCH)) {
      changes.push({ resource, stored })
      if (changes.length === BATCH) {
        yield changes
        changes = []
      }
    }
    if (changes.length > 0) yield changes
  }
}
