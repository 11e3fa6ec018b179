import { defined } from '@parley/shared/defined'
import { hasExactNumber } from '@parley/shared/exact-number'
import { exactOrUndefined, parseExact } from '@parley/shared/parse-json'
import { addressesIn, phoneOf } from '../../message/addresses.ts'
import type { MessageRecord, Send, Waiting } from '../../message/message-record.ts'
import { nextToSend } from '../../message/progress.ts'
import { shownState } from '../../message/send-state.ts'
import type { Turn } from '../../message/turn.ts'

/** A message in a list: where it stands, without its contents. */
export function summaryOf(record: MessageRecord, before?: string): object {
  const waits = record.due !== undefined || record.waitingFor !== undefined || before !== undefined
  const isWorkedInTurns = record.turns !== undefined
  return {
    _id: record._id,
    channel: record.channel,
    ...defined({ channelId: record.channelId }),
    thread: record.thread,
    ...defined({ phone: phoneOf(record), addresses: addressesIn(record) }),
    source: record.source,
    state: record.state,
    ...(record.reason === undefined ? {} : { reason: record.reason, fault: record.fault ?? null }),
    ...defined({ due: record.due, waitingFor: record.waitingFor, gatheredInto: record.gatheredInto }),
    ...defined({ waiting: waits ? waitingOf(record, { isWorkedInTurns, before }) : undefined }),
    receivedAt: record.receivedAt,
    updatedAt: record.updatedAt,
  }
}

/** A message with all that happened to it: what came in, the answer, its timeline, sends and attempts; `before` is the message of its thread that has to end first. */
export function detailOf(record: MessageRecord, before?: string): object {
  return {
    ...summaryOf(record, before),
    ...defined({ waiting: waitingOf(record, { isWorkedInTurns: record.turns !== undefined, before }) }),
    requestId: record.requestId ?? null,
    message: parseExact(record.body),
    ...defined({ transcript: record.transcript, changed: record.changed }),
    ...(record.answer === undefined ? {} : { answer: parseExact(record.answer) }),
    timeline: record.timeline,
    sends: record.sends
      .filter(({ content }) => content.kind !== 'submit')
      .map((send) => sendOf(record, send)),
    ...submissionOf(record.sends),
    attempts: record.attempts,
    ...defined({ turns: record.turns?.map(turnOf) }),
  }
}

/** Returns a send with content stored as text in JSON form, without the fields that only the next attempt needs. */
function sendOf(record: MessageRecord, sent: Send): object {
  const { content, tries: _tries, failedIds: _ids, pricing, ...send } = sent
  const { providerId: _id, ...priced } = pricing ?? {}
  const state = shownState(record, sent)
  return { ...send, state, content: shownContent(content), ...(pricing && { pricing: priced }) }
}

function shownContent(content: Send['content']): object {
  if (content.kind === 'object' && content.object !== undefined)
    return { ...content, object: parseExact(content.object) }
  if (content.kind === 'template' && content.more !== undefined)
    return { ...content, more: parseExact(content.more) }
  return content
}

/** The arguments as JSON, where the model wrote JSON that its readers do not change. */
export function turnOf({ calls, reasoning: _reasoning, ...turn }: Turn): object {
  const shown = calls.map(({ of: _of, ...call }) => ({
    ...call,
    args: shownArguments(call.args),
  }))
  return { ...turn, calls: shown }
}

function shownArguments(args: string): unknown {
  const read = exactOrUndefined(args)
  return read === undefined || hasExactNumber(read) ? args : read
}

/** Returns the state of the submission, handed over or pending; its content is in the answer. */
function submissionOf(sends: Send[]): { submit?: { id: string; state: 'pending' | 'submitted' } } {
  const send = sends.find(({ content }) => content.kind === 'submit')
  if (send === undefined) return {}
  return { submit: { id: send.id, state: send.state === 'pending' ? 'pending' : 'submitted' } }
}

/** The condition that an open message waits for. */
interface ShownWaiting {
  for: Waiting
  since: Date
  /** When it is looked at again. */
  until?: Date
  /** Of the attempt that failed last: its code, and what the other side said of it. */
  code?: string
  error?: string
  /** The message of its thread that has to end first. */
  message?: string
}

type Waited = Pick<
  MessageRecord,
  'open' | 'due' | 'waitingFor' | 'state' | 'sends' | 'attempts' | 'receivedAt' | 'updatedAt'
>

/** Returns the condition that a message waits for, as far as its record has it; undefined for one that has ended. */
export function waitingOf(
  record: Waited,
  { isWorkedInTurns, before }: { isWorkedInTurns: boolean; before?: string | undefined },
): ShownWaiting | undefined {
  const { open, due, waitingFor, attempts, receivedAt, updatedAt } = record
  if (open !== true) return undefined
  if (before !== undefined) return { for: 'thread', since: receivedAt, message: before }
  if (due === undefined && waitingFor === undefined)
    return { for: unsaid(record, isWorkedInTurns), since: updatedAt }
  const failed = attempts.findLast(({ outcome }) => outcome !== 'accepted')
  const isRetried = waitingFor === undefined || waitingFor === 'retry' || waitingFor === 'status'
  return {
    for: waitingFor ?? 'retry',
    since: (isRetried ? failed?.at : undefined) ?? updatedAt,
    ...defined({ until: due, code: failed?.code, error: failed?.error }),
  }
}

/** Its run is under way, or about to begin. */
function unsaid({ sends }: Waited, isWorkedInTurns: boolean): Waiting {
  const next = nextToSend(sends)
  if (next !== undefined) return sends[next]?.state === 'claimed' ? 'answer' : 'turn'
  return isWorkedInTurns ? 'model' : 'turn'
}
