import type { Log } from '@parley/shared/log'
import { isUnavailable } from '@parley/shared/unavailable'
import type { Channels } from '../channels/channels.ts'
import { type Admission, callEndOf, type Endpoints } from '../channels/endpoints/endpoints.ts'
import type { Handle } from '../channels/handlers/handle.ts'
import { createSlots, Pace, type Slots } from '../channels/send-rate-limit/send-rate.ts'
import type { Governor } from '../channels/send-rate-limit/send-rate-limit.ts'
import type { Submit } from '../channels/submit.ts'
import type { MessageRecord, Progress, Send } from '../message/message-record.ts'
import { CRASHED, INTERRUPTED, type Outcome, SUBMITTED } from '../message/outcome.ts'
import {
  attemptOf,
  claimed,
  type End,
  ended,
  handled,
  nextToSend,
  postponed,
  settledSend,
  unsettled,
} from '../message/progress.ts'
import { isSettled, stateOfSends } from '../message/send-state.ts'
import { settle, settleFailure } from '../message/settle.ts'
import type { Metrics } from '../metrics/metrics.ts'
import { waitFor } from './calling.ts'
import { claimOf, LEAVE_WITHIN_MS } from './claim.ts'
import { tellEnd } from './message-line.ts'
import { type Planned, type Prepared, prepare } from './prepare.ts'
import { type Way, type Ways, wayOf } from './route.ts'
import { beside, type RunResult } from './run-result.ts'
import { type RunHold, Superseded, WrittenMessage } from './written-message.ts'

/** Runs one message as far as it gets while it is held. Never rejects. */
export type RunMessage = (record: MessageRecord, hold: RunHold) => Promise<RunResult>

/** Whether a missing status says that a send did not happen. */
export interface StatusArrival {
  /** Since when (milliseconds since the epoch) providers could hand in statuses; undefined while they can't. */
  clearSince(): number | undefined
  /** Every status that was queued before then (milliseconds since the epoch) has been applied. */
  consumedUntil(): number
}

interface RunOptions extends Ways {
  channels: Channels
  handle: Handle
  endpoints: Pick<Endpoints, 'enter'>
  submit: Submit
  /** Reads a message that somebody else has written. */
  read(id: string): Promise<MessageRecord | null>
  governor: Governor
  statuses: StatusArrival
  metrics: Pick<Metrics, 'settled' | 'waited' | 'sent' | 'delivered'>
  log: Log
  /** How long an uncertain send waits for news, in milliseconds. */
  uncertainWindow: number
  keptMs: number
  now: () => number
}

const TROUBLE_PAUSE_MS = 1_000
const NEWS_CHECK_MS = 2_000
const MAX_MERGES = 20
const SUBMIT_AGAIN_MS = 5_000
const TOO_FAST = '130429'

/** Makes the runner of messages: prepare, then send and settle, one send after the other. */
export function createRunMessage(options: RunOptions): RunMessage {
  const slots = createSlots()
  return async (record, hold) => {
    const run = new Run({ record, hold, options, slots })
    try {
      const result = await run.go()
      return beside(record, run.lane, result)
    } catch (error) {
      const again = { kind: 'reload', at: options.now() + TROUBLE_PAUSE_MS, for: 'server' } as const
      if (error instanceof Superseded || isUnavailable(error)) return beside(record, run.lane, again)
      options.log.error({ err: error, messageId: record._id }, 'message could not be run')
      const result = await run.crashed().catch(() => again)
      return beside(record, run.lane, result)
    }
  }
}

type Entered = Extract<Admission, { kind: 'entered' }>
type Refused = Extract<Admission, { kind: 'wait' }>

class Run {
  readonly #message: WrittenMessage
  readonly #hold: RunHold
  readonly #options: RunOptions
  readonly #pace: Pace
  /** Whether later messages of the thread may pass this one while it waits. */
  #passable = false

  constructor(run: { record: MessageRecord; hold: RunHold; options: RunOptions; slots: Slots }) {
    this.#message = new WrittenMessage({ ...run.options, record: run.record, hold: run.hold })
    this.#hold = run.hold
    this.#options = run.options
    this.#pace = new Pace({ ...run.options, slots: run.slots })
  }

  get #record(): MessageRecord {
    return this.#message.record
  }

  get lane(): string | undefined {
    return this.#record.lane
  }

  async go(): Promise<RunResult> {
    const pause = this.#notDue()
    if (pause !== undefined) return pause
    const prepared = await prepare({ record: this.#record, ...this.#hold, ...this.#options })
    if ('channel' in prepared) this.#passable = prepared.channel.config.ordered === false
    switch (prepared.kind) {
      case 'later':
        return this.#later(prepared)
      case 'refused':
        return this.#refused(prepared.admission)
      case 'end':
        return this.#end(prepared.end, prepared.answer)
      case 'failed':
        return this.#failed(prepared)
      case 'ready':
        return this.#sendAll(prepared)
    }
  }

  /** A message that waits for news is looked at again every 2 s, since the news is written by others. */
  #notDue(): RunResult | undefined {
    const until = this.#record.due?.getTime() ?? 0
    const now = this.#options.now()
    if (until <= now) return undefined
    const waitsForNews = this.#record.sends.some(({ state }) => state === 'claimed')
    if (waitsForNews) return { kind: 'reload', at: Math.min(until, now + NEWS_CHECK_MS), for: 'status' }
    return { kind: 'wait', record: this.#record, until, for: this.#record.waitingFor ?? 'retry' }
  }

  /** Something unforeseen went wrong: it counts as a try, so that it ends, whatever causes it. */
  crashed(): Promise<RunResult> {
    return this.#failed({ step: 'message', outcome: CRASHED, ms: 0 })
  }

  /** What a handler answered is kept while something else is waited for. */
  async #later({ at, planned }: Extract<Prepared, { kind: 'later' }>): Promise<RunResult> {
    if (planned?.answer !== undefined) {
      this.#take(planned)
      await this.#keepAnswer()
    }
    return { kind: 'wait', record: this.#record, until: at, for: 'configuration' }
  }

  #take({ sends, answer }: Planned): void {
    this.#message.record = { ...this.#record, sends, ...(answer === undefined ? {} : { answer }) }
  }

  async #keepAnswer(): Promise<void> {
    if (this.#record.state !== 'received') return
    await this.#message.commitUnderLease(handled(this.#record, { at: this.#options.now() }))
  }

  async #sendAll(planned: Planned): Promise<RunResult> {
    this.#take(planned)
    const messageId = this.#record._id
    for (;;) {
      const index = nextToSend(this.#record.sends)
      const send = index === undefined ? undefined : this.#record.sends[index]
      if (index === undefined || send === undefined)
        return this.#end({ state: stateOfSends(this.#record.sends) })
      const { id, content } = send
      const settled =
        content.kind === 'submit'
          ? await this.#submit(planned, index)
          : await this.#send(await this.#wayOf(planned, { id, messageId, content }), { index, send })
      if (settled.kind !== 'next') return settled
    }
  }

  /** An action's spec is read by others, too. */
  #wayOf(planned: Planned, send: Parameters<typeof wayOf>[2]): Promise<Way> {
    const found = () => wayOf(this.#options, planned, send)
    return send.content.kind === 'function' ? this.#hold.calling(found) : found()
  }

  async #send(
    way: Way,
    { index, send }: { index: number; send: Send },
  ): Promise<RunResult | { kind: 'next' }> {
    const pause = await this.#uncertain(way, { index, send })
    if (pause !== undefined) return pause
    const admission = way.url === undefined ? undefined : await this.#enter(way.url)
    if (admission?.kind === 'wait') return this.#refused(admission)
    try {
      return await this.#sendNow(way, { index, send, leave: admission?.leave })
    } finally {
      admission?.leave('unknown')
    }
  }

  #enter(url: string): Promise<Admission> {
    const { workspace } = this.#record
    return waitFor(this.#hold.calling, this.#options.endpoints.enter({ workspace, url }))
  }

  async #sendNow(
    way: Way,
    { index, send, leave }: { index: number; send: Send; leave: Entered['leave'] | undefined },
  ): Promise<RunResult | { kind: 'next' }> {
    const pause = await this.#paced(way, send)
    if (pause !== undefined) return pause
    // Should this process die, a send that nobody reports on is made again under the same id in any case; but it
    // must be the same, and a handler asked again may answer something else.
    const lazily = !way.reports && this.#record.answer === undefined
    const unclaimed = this.#record
    try {
      await this.#message.commitUnderLease(claimed(unclaimed, { index, at: this.#options.now() }), { lazily })
      await this.#mayLeave(way, send)
    } catch (error) {
      // Left as it is, it would count as uncertain, though nothing has left.
      if (error instanceof Superseded || isUnavailable(error)) await this.#message.release(unclaimed, index)
      throw error
    }
    const attempted = await this.#attempt(way)
    leave?.(callEndOf(attempted.outcome))
    return this.#settle({ index, reports: way.reports, ...attempted })
  }

  /**
   * What may not be called now waits without being tried. Where that lasts longer, the message says so; not one whose
   * send is uncertain, which waits by its own time.
   */
  async #refused({ until, for: waitingFor, reason }: Refused): Promise<RunResult> {
    if (this.#record.answer !== undefined) await this.#keepAnswer()
    const isUncertain = this.#record.sends.some(({ state }) => state === 'claimed')
    const isSaid = this.#record.waitingFor === waitingFor
    if (waitingFor === 'circuit_breaker' && !isUncertain && !isSaid) {
      const progress = this.#beside(postponed(this.#record, { due: until, waitingFor, reason }))
      await this.#message.commitUnderLease(progress, { lazily: true })
    }
    return { kind: 'wait', record: this.#record, until, for: waitingFor }
  }

  /** Submitting twice counts once, so it needs no claim; with the broker away the message waits for it. */
  async #submit({ channel, message }: Planned, index: number): Promise<RunResult | { kind: 'next' }> {
    const { submit, now } = this.#options
    const started = performance.now()
    // A handler asked again may submit something else.
    if (this.#record.answer !== undefined) await this.#keepAnswer()
    try {
      if (!this.#hold.held()) throw new Superseded()
      await submit({ record: this.#record, channel, submit: message.answer.submit ?? {} })
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return { kind: 'wait', record: this.#record, until: now() + SUBMIT_AGAIN_MS, for: 'server' }
    }
    return this.#settle({ index, reports: false, outcome: SUBMITTED, ms: performance.now() - started })
  }

  async #uncertain(
    { reports }: Way,
    { index, send }: { index: number; send: Send },
  ): Promise<RunResult | undefined> {
    const { uncertainWindow, statuses, now } = this.#options
    const claim = claimOf({
      ...{ record: this.#record, send, reports, uncertainWindow, now: now() },
      clearSince: statuses.clearSince(),
      consumedUntil: statuses.consumedUntil(),
    })
    if (claim.kind === 'free') return undefined
    if (claim.kind === 'busy') return { kind: 'reload', at: claim.until, for: 'status' }
    const settled = await this.#settle({ index, reports, outcome: INTERRUPTED, ms: 0 })
    return settled.kind === 'next' ? { kind: 'reload', at: now(), for: 'status' } : settled
  }

  /** Waits for a slot where the send is held to a rate; a handler's answer is kept meanwhile. */
  async #paced({ keys }: Way, send: Send): Promise<RunResult | undefined> {
    if (keys === undefined) return undefined
    if (this.#record.state === 'received' && this.#record.source === 'meta')
      await this.#options.governor.count(keys)
    const until = await this.#pace.waitUntil(send.id, keys)
    if (until === undefined) return undefined
    await this.#keepAnswer()
    return { kind: 'wait', record: this.#record, until, for: 'rate' }
  }

  /** Waits for the slot of a claimed send. Throws {@link Superseded} when it must not leave any more. */
  async #mayLeave({ keys }: Way, send: Send): Promise<void> {
    const claimedAt = performance.now()
    const held = () => this.#hold.held() && performance.now() - claimedAt < LEAVE_WITHIN_MS
    if (keys !== undefined) await this.#pace.atSlot(send.id, { keys, held })
    if (!held()) throw new Superseded()
  }

  async #attempt({ keys, deliver }: Way): Promise<{ outcome: Outcome; ms: number }> {
    const started = performance.now()
    const outcome = await this.#hold.calling(deliver)
    const tooFast = outcome.kind === 'retryable' && outcome.code === TOO_FAST
    if (tooFast && keys !== undefined) await this.#options.governor.slowDown(keys)
    return { outcome, ms: performance.now() - started }
  }

  /** Commits the outcome of a send. News of it that came meanwhile are merged: neither may undo the other. */
  async #settle(options: {
    index: number
    outcome: Outcome
    reports: boolean
    ms: number
  }): Promise<RunResult | { kind: 'next' }> {
    const { index, reports, ms } = options
    const { uncertainWindow, keptMs, now } = this.#options
    for (let merges = 0; merges < MAX_MERGES; merges++) {
      const { tries, sends } = this.#record
      const at = now()
      const attempt = attemptOf({ step: sends[index]?.id ?? '', outcome: options.outcome, at, ms })
      const outcome: Outcome = isSettled(sends[index])
        ? { kind: 'accepted', delivered: false }
        : options.outcome
      const settlement = settle({ outcome, tries, reports, uncertainWindow })
      const progress =
        settlement.kind === 'settled'
          ? settledSend(this.#record, { index, settlement, attempt, at, keptMs })
          : this.#beside(unsettled(this.#record, { index, settlement, attempt, at, keptMs }))
      const lazily = settlement.kind === 'settled'
      if (await this.#message.commitFact(progress, { lazily })) return this.#after(progress)
      await this.#message.mergeNews()
    }
    throw new Superseded()
  }

  /** Where the channel says so, what waits goes aside. */
  #beside(progress: Progress): Progress {
    const waits = this.#passable && progress.due !== undefined
    return waits ? { ...progress, lane: this.#record._id } : progress
  }

  async #failed(failed: Omit<Extract<Prepared, { kind: 'failed' }>, 'kind' | 'channel'>): Promise<RunResult> {
    const { keptMs, now } = this.#options
    const at = now()
    const attempt = attemptOf({ ...failed, at })
    const settlement = settleFailure({
      outcome: failed.outcome,
      tries: this.#record.tries,
      reports: false,
      uncertainWindow: 0,
    })
    const progress = this.#beside(unsettled(this.#record, { settlement, attempt, at, keptMs }))
    await this.#message.commitUnderLease(progress)
    const after = this.#after(progress)
    return after.kind === 'next' ? { kind: 'reload', at, for: 'retry' } : after
  }

  async #end(end: End, answer = this.#record.answer): Promise<RunResult> {
    const { keptMs, now } = this.#options
    const options = { end, at: now(), keptMs, ...(answer === undefined ? {} : { answer }) }
    const progress = ended(this.#record, options)
    await this.#message.commitUnderLease(progress, { lazily: true })
    return this.#closed(progress)
  }

  #after(progress: Progress): RunResult | { kind: 'next' } {
    if (progress.open !== true) return this.#closed(progress)
    if (progress.due === undefined) return { kind: 'next' }
    return (
      this.#notDue() ?? {
        kind: 'wait',
        record: this.#record,
        until: progress.due.getTime(),
        for: progress.waitingFor ?? 'retry',
      }
    )
  }

  #closed(progress: Progress): RunResult {
    tellEnd(this.#options, this.#record, progress)
    return { kind: 'closed' }
  }
}
