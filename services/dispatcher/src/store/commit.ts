import { group } from '@parley/shared/group'
import type { mongo } from 'mongoose'
import type { Attempt, MessageRecord, Progress, Send, TimelineEntry } from '../message/message-record.ts'
import type { Turn } from '../message/turn.ts'
import type { Collections } from './collections.ts'

const AT_ONCE = 2

interface Commit {
  id: string
  /** The revision that the write is based on. */
  revision: number
  change: Change
  writer: string
}

/** The write for one step of a message: only its changes, however many sends the message has. */
interface Change {
  /** Fields that are written whole; optional ones that are not among them go. */
  set: Partial<MessageRecord>
  /** The one send that changed, and its position. */
  send?: Send
  position?: number
  /** The one turn that changed or is new, and its position. */
  turn?: Turn
  turnAt?: number
  /** Entries that are appended. */
  timeline: TimelineEntry[]
  attempts: Attempt[]
}

export interface Committer {
  /**
   * Writes the progress of a message that stands at `revision`, and makes it `revision + 1`; false when somebody
   * else has written since. Rejects when the database is unavailable: then it is not known whether it was written, and
   * the same call may be made again.
   */
  commit(
    record: Pick<MessageRecord, '_id' | 'revision'> & Partial<Progress>,
    progress: Progress,
    /** The name of the writer; the committer's own name by default. */
    writer?: string,
  ): Promise<boolean>
  /**
   * Takes back the claims of sends, where the message stands as `claim` says: at its revision and written by its
   * writer.
   */
  release(
    claim: Required<Pick<MessageRecord, '_id' | 'revision' | 'writer'>>,
    indexes: readonly number[],
  ): Promise<void>
}

const STATUS_WRITER = 'statuses:'

/** The name under which an instance writes the provider's statuses. */
export const statusWriter = (instance: string): string => STATUS_WRITER + instance
/** True if the latest write was of the provider's statuses. */
export const isStatusWriter = (writer: string | undefined): boolean =>
  writer?.startsWith(STATUS_WRITER) === true

/** Writes progress in groups: what many threads write at once goes to MongoDB as one statement. */
export function createCommitter(messages: Collections['messages'], writer: string): Committer {
  const write = group<Commit, boolean>({
    work: (batch) => writeBatch(messages, batch),
    charactersOf: ({ change: { set, send, turn } }) =>
      (set.answer?.length ?? 0) +
      JSON.stringify(set.sends ?? send ?? null).length +
      (set.turns === undefined && turn === undefined ? 0 : JSON.stringify(set.turns ?? turn).length),
    atOnce: AT_ONCE,
  })
  return {
    commit: (record, progress, by = writer) =>
      write({ id: record._id, revision: record.revision, change: changeOf(record, progress), writer: by }),
    release: async (claim, indexes) => {
      const pending = Object.fromEntries(indexes.map((index) => [`sends.${index}.state`, 'pending']))
      const { _id, revision, writer } = claim
      const set = { ...pending, updatedAt: new Date() }
      await messages.updateOne({ _id, revision, writer }, { $set: set, $inc: { revision: 1 } })
    },
  }
}

/**
 * What progress changes in the record that it was made from: parts that are the same object are the same in the
 * store. Before a message is handled its plan is in memory only, so all is written.
 */
function changeOf(record: Partial<Progress>, progress: Progress): Change {
  const { sends, timeline, attempts, answer, turns, ...set } = progress
  const change: Change = { set, timeline: [], attempts: [] }
  const isPlanned = record.state !== undefined && record.state !== 'received'
  const position = isPlanned ? onlyChange(record.sends ?? [], sends) : undefined
  if (position === undefined) change.set.sends = sends
  else if (position >= 0) Object.assign(change, { position, send: sends[position] })
  if (answer !== undefined && (!isPlanned || answer !== record.answer)) change.set.answer = answer
  const entries = isPlanned ? appended(record.timeline ?? [], timeline) : undefined
  if (entries === undefined) change.set.timeline = timeline
  else change.timeline = entries
  const tried = isPlanned ? appended(record.attempts ?? [], attempts) : undefined
  if (tried === undefined) change.set.attempts = attempts
  else change.attempts = tried
  if (turns !== undefined && turns !== record.turns)
    changeTurns(change, isPlanned ? record.turns : undefined, turns)
  return change
}

/** Mostly it is one turn that changes, or is new; the others may be large. */
function changeTurns(change: Change, before: Turn[] | undefined, turns: Turn[]): void {
  if (before === undefined) {
    change.set.turns = turns
    return
  }
  const added = appended(before, turns)
  const position = added?.length === 1 ? before.length : onlyChange(before, turns)
  const turn = position === undefined ? undefined : turns[position]
  if (position === undefined || turn === undefined) change.set.turns = turns
  else Object.assign(change, { turn, turnAt: position })
}

/** The position of the only element that differs, -1 when none does, undefined for more. */
function onlyChange<T>(before: T[], after: T[]): number | undefined {
  if (before.length !== after.length) return undefined
  const first = after.findIndex((one, index) => one !== before[index])
  return first === after.findLastIndex((one, index) => one !== before[index]) ? first : undefined
}

/** Returns the elements added behind the old ones; undefined when some old ones are not there any more. */
function appended<T>(before: T[], after: T[]): T[] | undefined {
  return before.every((one, index) => one === after[index]) ? after.slice(before.length) : undefined
}

/** Which of the batch were written. */
async function writeBatch(messages: Collections['messages'], batch: Commit[]): Promise<boolean[]> {
  const { modifiedCount } = await messages.updateMany(
    { _id: { $in: batch.map(({ id }) => id) } },
    updateOf(batch),
    { ignoreUndefined: true },
  )
  if (modifiedCount === batch.length) return batch.map(() => true)
  const written = await writtenBy(messages, batch)
  return batch.map(({ id }) => written.has(id))
}

const OPTIONAL = ['open', 'due', 'waitingFor', 'reason', 'fault', 'expiresAt'] as const
const WITHOUT_OPTIONAL = OPTIONAL.reduce<unknown>(
  (input, field) => ({ $unsetField: { field, input } }),
  '$$ROOT',
)

/** The list of a message with the one element that changed in its place; the list as it is where none did. */
const withChanged = (list: string, element: string, position: string) => ({
  $cond: [
    { $eq: [{ $type: position }, 'missing'] },
    list,
    {
      $concatArrays: [
        { $cond: [{ $eq: [position, 0] }, [], { $slice: [list, position] }] },
        [element],
        { $slice: [list, { $add: [position, 1] }, { $add: [{ $size: list }, 1] }] },
      ],
    },
  ],
})
const SENDS = withChanged('$sends', '$$change.send', '$$change.position')
const TURNS = withChanged('$turns', '$$change.turn', '$$change.turnAt')
const changedWith = (lists: object) => ({
  $mergeObjects: [
    WITHOUT_OPTIONAL,
    {
      sends: SENDS,
      timeline: { $concatArrays: ['$timeline', '$$change.timeline'] },
      attempts: { $concatArrays: ['$attempts', '$$change.attempts'] },
      ...lists,
    },
    '$$change.set',
  ],
})
const CHANGED = changedWith({})
const CHANGED_WITH_TURNS = changedWith({ turns: TURNS })

/**
 * One statement for the whole batch: each message finds its own change by its id, and takes it where it stands at
 * the revision that the write is based on. Measured, that costs the database less than half of one statement each.
 * What a message does not change is not in it.
 */
function updateOf(batch: Commit[]): mongo.BSON.Document[] {
  const updatedAt = new Date()
  const changes = batch.map(({ revision, change, writer }) => ({
    ...change,
    set: { ...change.set, revision: revision + 1, writer, updatedAt },
  }))
  const at = { $indexOfArray: [{ $literal: batch.map(({ id }) => id) }, '$_id'] }
  const base = { $arrayElemAt: [{ $literal: batch.map(({ revision }) => revision) }, '$$at'] }
  const change = { $arrayElemAt: [{ $literal: changes }, '$$at'] }
  // Most batches have no turn, and most messages never do.
  const hasTurn = batch.some((one) => one.change.turn !== undefined)
  const changed = { $let: { vars: { change }, in: hasTurn ? CHANGED_WITH_TURNS : CHANGED } }
  const next = { $cond: [{ $eq: ['$revision', base] }, changed, '$$ROOT'] }
  return [{ $replaceWith: { $let: { vars: { at }, in: next } } }]
}

/**
 * The batch's messages that stand where the batch put them: the total alone doesn't say which ones changed, and our
 * own write, made again because its answer was lost, must count as made.
 */
async function writtenBy(messages: Collections['messages'], batch: Commit[]): Promise<Set<string>> {
  const commits = new Map(batch.map((commit) => [commit.id, commit]))
  const found = await messages
    .find({ _id: { $in: [...commits.keys()] } }, { projection: { revision: 1, writer: 1 } })
    .toArray()
  const isOurs = ({ _id, revision, writer }: MessageRecord) => {
    const commit = commits.get(_id)
    return commit?.writer === writer && commit?.revision === revision - 1
  }
  return new Set(found.filter(isOurs).map(({ _id }) => _id))
}
