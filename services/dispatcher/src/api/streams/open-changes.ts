import type { Log } from '@parley/shared/log'
import type { mongo } from 'mongoose'
import type { ThreadRecord } from '../../message/thread-record.ts'
import { type Change, messageEvents, type StreamEvent, type Write } from './change.ts'
import { keyAfter, keyOfChange, timeOf } from './position.ts'

/** The changes of the database from one place on. */
export interface Changes {
  /** The next change; undefined when there was none for a moment. Rejects where the stream broke. */
  next(): Promise<Change | undefined>
  /** All changes up to this place were read. */
  readUntil(): string
  close(): Promise<void>
}

/** A stored thread as readers see it. */
export type ThreadView = (thread: ThreadRecord) => object

const MAX_WAIT_MS = 200
const BATCH = 200
/** The oplog has moved on, or the place is of another history. */
const LOST_CODES = [222, 260, 280, 286]
/** Large, and in no event. */
const LEFT_OUT = ['body', 'answer', 'turns', 'sends', 'attempts', 'transcript']

/** The writes to messages that readers learn of, and all to threads; what they are now is looked up. */
const PIPELINE = [
  {
    $match: {
      'ns.coll': { $in: ['messages', 'threads'] },
      operationType: { $in: ['insert', 'update', 'replace'] },
    },
  },
  {
    $set: {
      // The condition that a new message waits for is derived from its attempts; later there are many of them.
      attempts: {
        $cond: [{ $eq: ['$operationType', 'insert'] }, '$fullDocument.attempts', '$$REMOVE'],
      },
      passed: {
        $filter: {
          input: { $objectToArray: '$updateDescription.updatedFields' },
          cond: { $regexMatch: { input: '$$this.k', regex: /^timeline(\.\d+)?$/ } },
        },
      },
    },
  },
  {
    $match: {
      $or: [
        { operationType: { $ne: 'update' } },
        { 'ns.coll': 'threads' },
        { 'passed.0': { $exists: true } },
      ],
    },
  },
  { $unset: ['updateDescription', ...LEFT_OUT.map((field) => `fullDocument.${field}`)] },
]

interface StoredWrite extends Write {
  _id: { _data: string }
  clusterTime: mongo.Timestamp
  ns: { coll: Change['resource'] }
  documentKey: { _id: unknown }
}

/** True if the changes after a place can't be read any more. */
export function isLost(error: unknown): boolean {
  return LOST_CODES.includes(Number((error as { code?: unknown } | undefined)?.code))
}

/**
 * Opens the changes at and after `from`, those of its time included. One whose events can't be made is logged and has
 * none, so that readers are given what follows it.
 */
export function openChanges(
  db: mongo.Db,
  { from, view, log }: { from: string; view: ThreadView; log: Log },
): Changes {
  const stream = db.watch<mongo.Document, mongo.Document>(PIPELINE, {
    startAtOperationTime: timeOf(from),
    fullDocument: 'updateLookup',
    maxAwaitTimeMS: MAX_WAIT_MS,
    batchSize: BATCH,
  })
  let readUntil = from
  let idle = 0
  return {
    async next() {
      const write = (await stream.tryNext()) as unknown as StoredWrite | null
      if (write === null) {
        // The first may mean that nothing was read yet; a further one comes from the end of the oplog.
        if (++idle > 1) readUntil = later(readUntil, placeOf(stream.resumeToken))
        return undefined
      }
      idle = 0
      readUntil = keyOfChange(write.clusterTime, write._id._data)
      return changeOf(write, { key: readUntil, view, log })
    },
    readUntil: () => readUntil,
    close: () => stream.close(),
  }
}

/** A document that is gone, and a write that says nothing, is a change without events. */
function changeOf(
  write: StoredWrite,
  { key, view, log }: { key: string; view: ThreadView; log: Log },
): Change {
  const resource = write.ns.coll
  const { workspace, channel, thread, extId } = (write.fullDocument ?? {}) as Record<string, unknown>
  return {
    key,
    resource,
    id: write.documentKey._id,
    workspace: Number(workspace),
    channel: String(channel),
    thread: String(resource === 'threads' ? (extId ?? thread) : thread),
    events: write.fullDocument ? eventsOrNone(write, { view, log }) : [],
  }
}

function eventsOrNone(write: StoredWrite, { view, log }: { view: ThreadView; log: Log }): StreamEvent[] {
  try {
    return eventsOf(write, view)
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'unknown'
    log.error({ resource: write.ns.coll, id: write.documentKey._id, reason }, 'a change has no event')
    return []
  }
}

function eventsOf(write: StoredWrite, view: ThreadView): StreamEvent[] {
  if (write.ns.coll === 'messages') return messageEvents(write)
  return [{ event: 'thread', data: JSON.stringify(view(write.fullDocument as unknown as ThreadRecord)) }]
}

/** Where a stream without changes stands: MongoDB's token begins with the time, after a byte for its type. */
function placeOf(token: unknown): string | undefined {
  const [, t = '', i = ''] =
    /^82([0-9A-F]{8})([0-9A-F]{8})/.exec(String((token as { _data?: unknown } | null)?._data)) ?? []
  return t === '' ? undefined : keyAfter(timeOf(t.toLowerCase() + i.toLowerCase()))
}

function later(one: string, other = ''): string {
  return other > one ? other : one
}
