import type { Attempt, MessageRecord, Send, SendState } from './message-record.ts'
import { INTERRUPTED, type Outcome } from './outcome.ts'
import { ranAgainAt } from './progress.ts'
import type { Settlement } from './settle.ts'
import { MAY_HAVE_RUN, type ToolResult } from './turn.ts'

/** A call that does not come through is tried for so long, in milliseconds; then the model decides what follows. */
export const CALL_FOR_MS = 30_000
const DELAY_MS = 1_000
const MAX_DELAY_MS = 8_000

/**
 * What the model is given of a call: the `result` that the tool answered with, or that something was `sent` to the
 * person. A `handOff` tells a system of the channel's, and ends the work whatever that answers.
 */
export type CallKind = 'result' | 'sent' | 'handOff'

/** True if a call goes to a system, and not to the person. */
export const isToSystem = (kind: CallKind | undefined): boolean => kind === 'result' || kind === 'handOff'

/** The result for the model, and the state of the send behind it. */
interface GivenResult {
  result: ToolResult
  state: SendState
  providerId?: string
}

/** Returns the result for the model after an attempt at a call; undefined while it is tried on. */
export function givenAfter(attempted: {
  outcome: Outcome
  settlement: Settlement
  /** How long it has been tried, in milliseconds. */
  triedFor: number
}): GivenResult | undefined {
  const { outcome, settlement, triedFor } = attempted
  if (outcome.kind === 'accepted') return accepted(outcome)
  const isOver = settlement.kind === 'retry' && triedFor + settlement.delay > CALL_FOR_MS
  if (settlement.kind !== 'dead' && !isOver) return undefined
  const result = outcome.kind === 'uncertain' ? outcome.result : undefined
  return result === undefined ? failedCall(outcome.reason) : { result, state: 'failed' }
}

/** A call that may have been done, and is not made again. */
export function uncertainCall(reason: string): GivenResult {
  const result: ToolResult = { state: 'failed', text: `${MAY_HAVE_RUN} ${reason}`, uncertain: true }
  return { result, state: 'failed' }
}

export function failedCall(reason: string): GivenResult {
  return { result: { state: 'failed', text: reason }, state: 'failed' }
}

/** How long to wait before a call is tried again, in milliseconds. */
export function callDelay(tries: number): number {
  return Math.min(DELAY_MS * 2 ** tries, MAX_DELAY_MS)
}

/**
 * For how long a call has been tried, in milliseconds: its attempts, and the pauses that were meant to be between them.
 * Time in which it waited for us (a crash, a queue) is not the tool's, and does not count.
 */
export function triedFor(record: MessageRecord, send: Send, latest: Attempt): number {
  const attempts = [...attemptsAt(record, send), latest].filter(({ code }) => code !== INTERRUPTED.code)
  return attempts.reduce((sum, { at, ms }, index) => {
    const before = attempts[index - 1]?.at.getTime()
    const pause = before === undefined ? 0 : at.getTime() - ms - before
    return sum + ms + Math.min(Math.max(0, pause), MAX_DELAY_MS)
  }, 0)
}

/** True if a call was tried, or has waited for an endpoint that is not called for now. */
export function hasBegun(record: MessageRecord, send: Send): boolean {
  return record.waitingFor === 'circuit_breaker' || attemptsAt(record, send).length > 0
}

/** Since when a call is tried, or could have been, in milliseconds since the epoch. */
export function triedSince(record: MessageRecord, send: Send): number {
  const first = attemptsAt(record, send)[0] ?? attemptsOf(record).at(-1)
  const turnAt = record.turns?.[send.of?.turn ?? -1]?.at.getTime() ?? 0
  return Math.max(first?.at.getTime() ?? 0, turnAt, ranAgainAt(record))
}

function attemptsAt(record: MessageRecord, { id }: Send): Attempt[] {
  return attemptsOf(record).filter(({ step }) => step === id)
}

function attemptsOf(record: MessageRecord): Attempt[] {
  return record.attempts.filter(({ at }) => at.getTime() >= ranAgainAt(record))
}

function accepted({ providerId, delivered, result }: Extract<Outcome, { kind: 'accepted' }>): GivenResult {
  if (result !== undefined) return { result, state: result.state === 'failed' ? 'failed' : 'delivered' }
  const given: GivenResult = {
    result: { state: 'done', text: 'Sent.' },
    state: delivered ? 'delivered' : 'sent',
  }
  return providerId === undefined ? given : { ...given, providerId }
}
