import type mongoose from 'mongoose'
import { RESOURCES, type ResourceName } from '../resources/definition.ts'
import type { StartingPoint } from '../store/relay-state.ts'
import type { StoredDocument } from '../store/stored-document.ts'

const MAX_WAIT_MS = 200
const BATCH = 100

type Event = mongoose.mongo.Document
export type Changes = mongoose.mongo.ChangeStream<Event, Event>

/** One write to one document: what it is now, and what it was before where that is known. */
export interface DocumentWrite {
  resource: ResourceName
  stored: StoredDocument
  before?: StoredDocument | undefined
  /** When it was written; not known of what comes once again after a gap. */
  at?: Date | undefined
}

/** Every write to a resource's document. An event over 16 MiB comes in fragments. */
export function openChangeStream(
  db: mongoose.mongo.Db,
  options: { from: StartingPoint; withBefore: boolean },
): Changes {
  const written = { 'ns.coll': { $in: [...RESOURCES] }, operationType: { $in: ['insert', 'replace'] } }
  return db.watch<Event, Event>([{ $match: written }, { $changeStreamSplitLargeEvent: {} }], {
    ...options.from,
    maxAwaitTimeMS: MAX_WAIT_MS,
    ...(options.withBefore ? { fullDocumentBeforeChange: 'whenAvailable' } : {}),
  })
}

/** The next changes, at most 100; none when nothing happened for 200 ms. */
export async function nextChanges(stream: Changes): Promise<DocumentWrite[]> {
  const changes: DocumentWrite[] = []
  while (changes.length < BATCH) {
    const event = await nextEvent(stream)
    if (event === undefined) break
    changes.push({
      resource: event.ns.coll,
      stored: event.fullDocument,
      before: event.fullDocumentBeforeChange ?? undefined,
      at: event.wallTime,
    })
  }
  return changes
}

async function nextEvent(stream: Changes): Promise<Event | undefined> {
  let event: Event | undefined
  for (;;) {
    const next = await stream.tryNext()
    if (next === null && event === undefined) return undefined
    if (next === null) continue
    event = { ...event, ...next }
    if (next.splitEvent === undefined || next.splitEvent.fragment === next.splitEvent.of) return event
  }
}
