import { defined } from '@parley/shared/defined'
import type {
  Attempt,
  Ending,
  Fault,
  MessageRecord,
  MessageState,
  Progress,
  Send,
  SendState,
  TimelineEntry,
  WaitingFor,
} from './message-record.ts'
import type { Outcome } from './outcome.ts'
import { later, stateOfSends } from './send-state.ts'
import type { Settlement } from './settle.ts'

const MAX_ATTEMPTS = 50
const MAX_TIMELINE = 50

/** How a message ends, and why. */
export interface MessageEnd {
  state: Exclude<MessageState, 'received' | 'handled' | 'sending'>
  reason?: string
  fault?: Fault
  gatheredInto?: string
}

/** A person has the thread: nothing (more) is answered. */
export const HANDLER_IS_PERSON = {
  state: 'done',
  reason: 'handler_is_person',
} as const satisfies MessageEnd & Ending

/** It was written in a group, which an earlier version of the webhook did not say how to write to. */
export const GROUP_MESSAGE = { state: 'done', reason: 'group_message' } as const satisfies MessageEnd & Ending

/** Its writer took it back before anybody was asked. */
export const TAKEN_BACK = { state: 'done', reason: 'deleted' } as const satisfies MessageEnd & Ending

/** Its caller took it back while it waited for its time. */
export const CANCELLED = { state: 'done', reason: 'cancelled' } as const satisfies MessageEnd & Ending

/** Its workspace has as many messages that wait for their time as it may have. */
export const SCHEDULE_FULL = 'The workspace has 10,000 messages that wait for their time already.'

interface When {
  at: number
  /** The retention of an ended message, in milliseconds. */
  retentionMs: number
}

/** The message's progress once its answer and its sends are known. */
export function handled(record: MessageRecord, { at }: { at: number }): Progress {
  const timeline = withEntry(record.timeline, { at: new Date(at), state: 'handled' })
  return { ...carried(record), state: 'handled', open: true, tries: 0, timeline }
}

/** The message's progress with the send at `index` claimed; a first claim also records the answer and the plan. */
export function claimed(record: MessageRecord, { index, at }: { index: number; at: number }): Progress {
  const before = record.state === 'received' ? handled(record, { at }) : carried(record)
  const entry = { at: new Date(at), state: 'sending' as const }
  const timeline = record.state === 'sending' ? before.timeline : withEntry(before.timeline, entry)
  return {
    ...before,
    state: 'sending',
    open: true,
    timeline,
    sends: withSend(record.sends, index, { state: 'claimed' }),
  }
}

/** The message's progress after a handler or a send was tried and did not settle, or died. */
export function unsettled(
  record: MessageRecord,
  options: { index?: number; settlement: Exclude<Settlement, { kind: 'settled' }>; attempt: Attempt } & When,
): Progress {
  const { index, settlement, attempt, at } = options
  const attempts = withAttempt(record.attempts, attempt)
  const state = settlement.kind === 'await' ? 'claimed' : 'pending'
  const retry = index !== undefined && record.sends[index]?.retryAt !== undefined && { retryAt: undefined }
  const sends = index === undefined ? record.sends : withSend(record.sends, index, { state, ...retry })
  if (settlement.kind === 'dead') {
    const { reason, fault } = settlement
    return ended({ ...record, attempts, sends }, { end: { state: 'dead', reason, fault }, ...options })
  }
  const due = new Date(at + settlement.delay)
  const waitingFor = settlement.kind === 'await' ? 'status' : 'retry'
  const tries = triesOf(record, index) + 1
  return { ...carried(record), open: true, tries, attempts, sends, due, waitingFor }
}

/** How often the current step failed; of a send also before the provider took it and reported it as failed later. */
export function triesOf({ tries, sends }: Pick<MessageRecord, 'tries' | 'sends'>, index?: number): number {
  return Math.max(tries, (index === undefined ? undefined : sends[index]?.tries) ?? 0)
}

/** The message's progress after a model did not answer: `tries` says which one is asked next, at once or when it is due. */
export function modelTried(
  record: MessageRecord,
  { attempt, tries, due }: { attempt: Attempt; tries: number; due: number | undefined },
): Progress {
  const attempts = withAttempt(record.attempts, attempt)
  const tried = { ...carried(record), open: true as const, tries, attempts }
  return due === undefined ? tried : { ...tried, due: new Date(due), waitingFor: 'retry' }
}

/** The message's progress once what is said in its audio is known. */
export function heard(record: MessageRecord, transcript: string): Progress {
  return { ...carried(record), open: true, tries: 0, transcript }
}

/** The message's progress while nothing is tried until `due`, which counts as no try. */
export function postponed(
  record: MessageRecord,
  { due, waitingFor, reason }: { due: number; waitingFor: WaitingFor; reason: string },
): Progress {
  return { ...carried(record), open: true, due: new Date(due), waitingFor, reason }
}

/** The message's progress once the time has come at which it is to be sent. */
export function begun(record: MessageRecord): Progress {
  return { ...carried(record), open: true }
}

/** The message's progress when it waits on for what it waits for, until `due` (milliseconds since the epoch). */
export function waitsUntil(record: MessageRecord, due: number): Progress {
  const { waitingFor, reason } = record
  return { ...carried(record), open: true, due: new Date(due), ...defined({ waitingFor, reason }) }
}

/** The message's progress after the send at `index` settled: the message ends with its last one. */
export function settledSend(
  record: MessageRecord,
  options: { index: number; settlement: Extract<Settlement, { kind: 'settled' }>; attempt: Attempt } & When,
): Progress {
  const { index, settlement, attempt } = options
  const { providerId, delivered } = settlement
  const before = record.sends[index]
  // A status may have come before the answer to the send did: that it failed may be said of an earlier attempt.
  const isTaken =
    before?.failedIds !== undefined && providerId !== undefined && !before.failedIds.includes(providerId)
  const known = isTaken && before.state === 'failed' ? 'claimed' : before?.state
  const state = later(known, delivered ? 'delivered' : 'sent')
  const failure = state === 'failed' ? {} : { failure: undefined, retryAt: undefined }
  const tries = triesOf(record, index) || undefined
  const sends = withSend(record.sends, index, {
    state,
    ...(before?.failure && failure),
    ...defined({ providerId, tries }),
  })
  const attempts = withAttempt(record.attempts, attempt)
  const next = { ...carried(record), sends, tries: 0, attempts }
  const end = endOf(next)
  return end === undefined || isResumable(next) ? { ...next, open: true } : ended(next, { end, ...options })
}

/** How a message ends as it stands; undefined while there is something to send, or a model to ask. */
export function endOf({
  sends,
  turns,
  ending,
}: Pick<MessageRecord, 'sends' | 'turns' | 'ending'>): MessageEnd | undefined {
  if (nextToSend(sends) !== undefined) return undefined
  if (ending !== undefined) return ending
  const isComplete = turns === undefined || turns.at(-1)?.calls.length === 0
  return isComplete ? endOfSends(sends) : undefined
}

/** How a message ends whose sends are all settled; of several that failed the last one says why. */
export function endOfSends(sends: Send[]): MessageEnd {
  const state = stateOfSends(sends)
  if (state !== 'failed') return { state }
  const failure = sends.findLast((send) => send.state === 'failed' && send.failure !== undefined)?.failure
  return { state, ...(failure && { reason: failure.reason, fault: failure.fault }) }
}

/** True if a send that the provider took, and later reported as failed, is to be made again once all else is done. */
export function isResumable({ sends, ending }: Pick<MessageRecord, 'sends' | 'ending'>): boolean {
  return ending === undefined && sends.some(({ retryAt }) => retryAt !== undefined)
}

/** The message's progress with what is to be sent again, when all of that is due. */
export function resumed(record: MessageRecord): Progress {
  return { ...carried(record), open: true, tries: 0, ...resumedSends(record) }
}

function resumedSends({
  sends,
}: Pick<MessageRecord, 'sends'>): Pick<Progress, 'sends' | 'due' | 'waitingFor'> {
  const times = sends.flatMap(({ retryAt }) => retryAt?.getTime() ?? [])
  const again = sends.map(({ retryAt, ...send }) =>
    retryAt === undefined ? send : { ...send, state: 'pending' as const },
  )
  return { sends: again, due: new Date(Math.max(...times)), waitingFor: 'retry' }
}

/** The position of the first send that is not settled. */
export function nextToSend(sends: Send[]): number | undefined {
  const index = sends.findIndex(({ state }) => state === 'pending' || state === 'claimed')
  return index < 0 ? undefined : index
}

/** The message's progress when it reaches an end: nothing is left to run, and its retention begins. */
export function ended(record: Carried, options: { end: MessageEnd; answer?: string } & When): Progress {
  const { end, at, retentionMs } = options
  const entry = {
    at: new Date(at),
    state: end.state,
    ...defined({ reason: end.reason }),
  }
  return {
    ...carried(record),
    ...defined({ answer: options.answer }),
    ...end,
    timeline: withEntry(record.timeline, entry),
    expiresAt: new Date(at + retentionMs),
  }
}

/** An attempt's record from its outcome. */
export function attemptOf(options: { step: string; outcome: Outcome; at: number; ms: number }): Attempt {
  const { step, outcome, at, ms } = options
  const code = outcome.kind === 'accepted' ? {} : { code: outcome.code, ...defined({ error: outcome.error }) }
  return { at: new Date(at), step, outcome: outcome.kind, ms: Math.round(ms), ...code }
}

type Carried = Pick<
  MessageRecord,
  'state' | 'tries' | 'sends' | 'timeline' | 'attempts' | 'answer' | 'turns' | 'ending'
>

/** The message's progress without any change. */
export function carried(record: Carried): Progress {
  const { state, tries, sends, timeline, attempts, answer, turns, ending } = record
  const progress = { state, tries, sends, timeline, attempts, ...defined({ answer }) }
  return turns === undefined ? progress : { ...progress, turns, ...defined({ ending }) }
}

export function withSend(sends: Send[], index: number, change: Partial<Send>): Send[] {
  return sends.map((send, at) => (at === index ? { ...send, ...change } : send))
}

/** The timeline with an entry more; when there are more than 50, those after the first make room. */
export function withEntry(timeline: TimelineEntry[], entry: TimelineEntry): TimelineEntry[] {
  if (timeline.length < MAX_TIMELINE) return [...timeline, entry]
  return [...timeline.slice(0, 1), ...timeline.slice(timeline.length - MAX_TIMELINE + 2), entry]
}

export function withAttempt(attempts: Attempt[], attempt: Attempt): Attempt[] {
  const latest = attempts.length < MAX_ATTEMPTS ? attempts : attempts.slice(1 - MAX_ATTEMPTS)
  return [...latest, attempt]
}

/** The `type` of a broker message that requests a replay. */
export const REPLAY_TYPE = 'message.replay.v1'

/** The states from which a message may be run again. */
export const REPLAYABLE = ['dead', 'failed', 'unrouted'] as const satisfies MessageState[]

export const isReplayable = ({ state, open }: Pick<MessageRecord, 'state' | 'open'>): boolean =>
  open !== true && (REPLAYABLE as readonly MessageState[]).includes(state)

const RUN_AGAIN = 'It is run again.'

/** True if a message was run again at this entry. */
export const isRunAgain = ({ state, reason }: TimelineEntry): boolean =>
  state === 'received' && reason === RUN_AGAIN

/** When a message was last run again, in milliseconds since the epoch; 0 for never. */
export function ranAgainAt({ timeline }: Pick<MessageRecord, 'timeline'>): number {
  const entry = timeline.findLast(isRunAgain)
  return entry?.at.getTime() ?? 0
}

/** True if a model has answered: a message that died before an answer has turns, but none in them. */
export const hasTurns = ({ turns = [] }: Pick<MessageRecord, 'turns'>): boolean => turns.length > 0

const DONE: SendState[] = ['sent', 'delivered', 'read']

/** A call whose result the model was given is over, whatever came of it. */
function isOver({ turns }: MessageRecord, { state, content, of }: Send): boolean {
  if (DONE.includes(state)) return true
  if (content.kind !== 'tool' || of?.call === undefined) return false
  return turns?.[of.turn]?.calls[of.call]?.result !== undefined
}

/** A claimed call may have run, so whether it is made again is for who makes it to say. */
function isRetained(record: MessageRecord, send: Send): boolean {
  return isOver(record, send) || (send.state === 'claimed' && send.content.kind === 'tool')
}

/**
 * A message that is to run again, at a new place in the partition that its thread now has. It goes on at the first send
 * that did not get there; what did is not sent again. Where nothing was planned yet, it is handled anew; a model is asked on from the
 * last turn that is stored. Who has its thread by then is looked up.
 */
export function replayed(
  record: MessageRecord,
  { at, ...place }: { at: Date } & Pick<MessageRecord, 'partition' | 'order'>,
): MessageRecord {
  const { reason: _reason, fault: _fault, due: _due, waitingFor: _for, expiresAt: _at, ...others } = record
  const { ending: _ending, takenOver: _takenOver, handedOffAt: _handedOffAt, turns, ...rest } = others
  const isPlanned = record.sends.length > 0 || hasTurns(record)
  const entry = { at, state: 'received' as const, reason: RUN_AGAIN }
  return {
    ...rest,
    ...(isPlanned ? defined({ turns }) : {}),
    state: isPlanned ? 'handled' : 'received',
    open: true,
    ...place,
    tries: 0,
    revision: record.revision + 1,
    updatedAt: at,
    sends: record.sends.map((send) => (isRetained(record, send) ? send : asNew(send))),
    timeline: withEntry(record.timeline, entry),
  }
}

/** As it was before it was tried; what failed is known still. */
function asNew({ tries: _tries, retryAt: _retryAt, ...send }: Send): Send {
  return { ...send, state: 'pending' }
}

/**
 * A message that had ended, of which something is to be sent again that the provider took and reported as failed later:
 * that alone runs again, when it is due.
 */
export function reopened(record: MessageRecord, place: Parameters<typeof replayed>[1]): MessageRecord {
  return { ...replayed(record, place), ...resumedSends(record) }
}
