import { defined } from '@parley/shared/defined'
import type { Attempt, MessageRecord, TimelineEntry } from '../../message/message-record.ts'
import { isRunAgain } from '../../message/progress.ts'
import { summaryOf } from '../messages/view.ts'

/** An event of a stream; its data as JSON text, made once for all readers. */
export interface StreamEvent {
  event: 'message' | 'state' | 'thread' | 'delta' | 'presence'
  data: string
}

/** The events of one write to a stored document, for readers, in order. */
export interface Change {
  /** Its place among all changes. */
  key: string
  /** The resource whose rules decide who may read it. */
  resource: 'messages' | 'threads'
  /** Of the document. */
  id: unknown
  workspace: number
  channel: string
  thread: string
  events: StreamEvent[]
}

/** A write as the change stream's pipeline gives it. */
export interface Write {
  operationType: 'insert' | 'update' | 'replace'
  /** As it is now; null where it is gone already. */
  fullDocument?: Record<string, unknown> | null
  /** Of a message that is new. */
  attempts?: Attempt[]
  /** Of an update: the changed entries of the timeline by their paths, or the timeline itself. */
  passed?: { k: string; v: TimelineEntry | TimelineEntry[] }[] | null
}

/**
 * The events of a write to a message. A message that is new is one, and so is each state that it passed. It is replaced
 * when it is run again: what it passed before is not new.
 */
export function messageEvents({ operationType, fullDocument, attempts = [], passed }: Write): StreamEvent[] {
  const record = fullDocument as unknown as MessageRecord
  const isNew = operationType === 'insert'
  const states = statesIn(operationType, { passed: passed ?? [], timeline: record.timeline })
  const events: StreamEvent[] = isNew
    ? [{ event: 'message', data: JSON.stringify(summaryOf({ ...record, attempts })) }]
    : []
  for (const entry of states) events.push({ event: 'state', data: JSON.stringify(stateOf(record, entry)) })
  return events
}

function statesIn(
  operationType: Write['operationType'],
  { passed, timeline }: { passed: NonNullable<Write['passed']>; timeline: TimelineEntry[] },
): TimelineEntry[] {
  switch (operationType) {
    case 'insert':
      return timeline
    case 'update':
      return passedStates(passed)
    case 'replace':
      return timeline.slice(timeline.findLastIndex(isRunAgain))
  }
}

function stateOf({ _id, thread, channel }: MessageRecord, { state, reason, at }: TimelineEntry): object {
  return { _id, thread, channel, state, ...defined({ reason }), at }
}

/**
 * The entries that an update has added to a timeline. A timeline that is full makes room for each, so that all of its
 * places change: the last one is what is known to be new then.
 */
function passedStates(passed: NonNullable<Write['passed']>): TimelineEntry[] {
  const whole = passed.find(({ k }) => k === 'timeline')
  if (whole !== undefined) return (whole.v as TimelineEntry[]).slice(-1)
  const places = passed
    .map(({ k, v }) => ({ at: Number(k.slice('timeline.'.length)), entry: v as TimelineEntry }))
    .filter(({ at }) => Number.isInteger(at))
    .toSorted((one, other) => one.at - other.at)
  const isShifted = places[0]?.at === 1 && places.length > MOST_PASSED
  return (isShifted ? places.slice(-1) : places).map(({ entry }) => entry)
}

/** More than that no message passes in one write. */
const MOST_PASSED = 10
