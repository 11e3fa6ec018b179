import type { Log } from '@parley/shared/log'
import type { WebhookMessage } from '@parley/shared/message'
import { isUnavailable, Problem } from '@parley/shared/problem'
import { LRUCache } from 'lru-cache'
import type { Callback } from './callbacks/callback.ts'
import type { Channel, Channels } from './channels.ts'
import type { Committer } from './commit.ts'
import { awaitSlot, CLAIM_AHEAD_MS, SLOT_LATE_MS } from './governor/await-slot.ts'
import type { Governor, PaceKeys } from './governor/governor.ts'
import type { Handle } from './handlers/handle.ts'
import type { MessageRecord, Progress, Send } from './message-record.ts'
import type { Outcome } from './outcome.ts'
import type { Lease } from './partitions/lease-store.ts'
import { type Prepared, prepare } from './prepare.ts'
import {
  attemptOf,
  claimed,
  type End,
  ended,
  handled,
  nextToSend,
  settledSend,
  unsettled,
} from './progress.ts'
import { isSettled, stateOfSends } from './send-state.ts'
import { settle, settleFailure } from './settle.ts'
import type { StatusWatch } from './statuses/status-watch.ts'
import { Superseded, WrittenMessage } from './written-message.ts'

/** What becomes of a thread after its head was run. */
export type RunResult =
  /** The head has reached an end; the next message may run. */
  | { kind: 'closed' }
  /** The head is to be run again at this time (milliseconds since the epoch). */
  | { kind: 'wait'; record: MessageRecord; until: number }
  /** What is held in memory may be out of date: read the thread anew at this time. */
  | { kind: 'reload'; at: number }

/** Runs one message as far as it gets under a lease. Never rejects. */
export type RunMessage = (record: MessageRecord, lease: Lease) => Promise<RunResult>

interface RunOptions {
  channels: Channels
  handle: Handle
  callbacks: Record<Channel['callback'], Callback>
  committer: Committer
  /** Reads a message that somebody else has written. */
  read(id: string): Promise<MessageRecord | null>
  governor: Governor
  statuses: Pick<StatusWatch, 'clearSince'>
  log: Log
  /** How long an uncertain send waits for news, in milliseconds. */
  uncertainWindow: number
  keptMs: number
  now: () => number
}

const TROUBLE_PAUSE_MS = 1_000
const NEWS_CHECK_MS = 2_000
const MAX_MERGES = 20
const MAX_SLOTS = 20_000
const TOO_FAST = '130429'
const INTERRUPTED: Outcome = {
  kind: 'uncertain',
  code: 'interrupted',
  fault: 'us',
  reason: 'The send was interrupted.',
}

/** Makes the runner of messages: prepare, then send and settle, one send after the other. */
export function createRunMessage(options: RunOptions): RunMessage {
  const slots = new LRUCache<string, number>({ max: MAX_SLOTS })
  return async (record, lease) => {
    const run = new Run({ record, lease, options, slots })
    try {
      return await run.go()
    } catch (error) {
      if (!(error instanceof Superseded) && !isAway(error)) {
        options.log.error({ err: error, messageId: record._id }, 'message could not be run')
      }
      return { kind: 'reload', at: options.now() + TROUBLE_PAUSE_MS }
    }
  }
}

function isAway(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof Problem && error.code === 'unavailable')
}

interface Ready {
  channel: Channel
  message: WebhookMessage
  callback: Callback
}

class Run {
  readonly #message: WrittenMessage
  readonly #lease: Lease
  readonly #options: RunOptions
  /** Slots that are kept for sends whose thread waits, in milliseconds since the epoch; at most a second old. */
  readonly #slots: LRUCache<string, number>

  /** When the send under way may leave, where it is held to a rate. */
  #slotAt = Number.POSITIVE_INFINITY

  constructor(run: {
    record: MessageRecord
    lease: Lease
    options: RunOptions
    slots: LRUCache<string, number>
  }) {
    this.#message = new WrittenMessage({ ...run.options, record: run.record, lease: run.lease })
    this.#lease = run.lease
    this.#options = run.options
    this.#slots = run.slots
  }

  get #record(): MessageRecord {
    return this.#message.record
  }

  async go(): Promise<RunResult> {
    const pause = this.#notDue()
    if (pause !== undefined) return pause
    const prepared = await prepare({ record: this.#record, ...this.#options })
    switch (prepared.kind) {
      case 'later':
        return { kind: 'wait', record: this.#record, until: prepared.at }
      case 'end':
        return this.#end(prepared.end, prepared.answer)
      case 'failed':
        return this.#handlerFailed(prepared)
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
    if (waitsForNews) return { kind: 'reload', at: Math.min(until, now + NEWS_CHECK_MS) }
    return { kind: 'wait', record: this.#record, until }
  }

  async #sendAll({
    channel,
    message,
    sends,
    answer,
  }: Extract<Prepared, { kind: 'ready' }>): Promise<RunResult> {
    const ready = { channel, message, callback: this.#options.callbacks[channel.callback] }
    this.#message.record = { ...this.#record, sends, ...(answer === undefined ? {} : { answer }) }
    for (;;) {
      const index = nextToSend(this.#record.sends)
      const send = index === undefined ? undefined : this.#record.sends[index]
      if (index === undefined || send === undefined)
        return this.#end({ state: stateOfSends(this.#record.sends) })
      const pause =
        (await this.#uncertain({ ...ready, index, send })) ?? (await this.#paced({ ...ready, send }))
      if (pause !== undefined) return pause
      await this.#message.commitUnderLease(claimed(this.#record, { index, at: this.#options.now() }))
      const { outcome, ms } = await this.#attempt({ ...ready, send })
      const settled = await this.#settle({ ...ready, index, outcome, ms })
      if (settled.kind !== 'next') return settled
    }
  }

  /**
   * A claim without an outcome may have been sent. Where the other side reports, it is sent again only after a
   * window of silence in which news would have reached us; else at once, under the same id.
   */
  async #uncertain(options: Ready & { index: number; send: Send }): Promise<RunResult | undefined> {
    const { index, send, callback } = options
    if (send.state !== 'claimed' || !callback.reports) return undefined
    if (this.#record.due === undefined) {
      const settled = await this.#settle({ ...options, index, outcome: INTERRUPTED, ms: 0 })
      return settled.kind === 'next' ? { kind: 'reload', at: this.#options.now() } : settled
    }
    const { uncertainWindow, statuses, now } = this.#options
    const began = this.#record.due.getTime() - uncertainWindow
    const silentSince = Math.max(statuses.clearSince() ?? now(), began)
    const until = silentSince + uncertainWindow
    return until <= now() ? undefined : { kind: 'reload', at: Math.min(until, now() + NEWS_CHECK_MS) }
  }

  /** Waits for a slot where the callback is held to a rate; a handler's answer is kept meanwhile. */
  async #paced({ channel, message, callback, send }: Ready & { send: Send }): Promise<RunResult | undefined> {
    const keys = callback.paceKeys?.(channel, message)
    if (keys === undefined) return undefined
    const { governor, now } = this.#options
    if (this.#record.state === 'received' && this.#record.source === 'meta') await governor.count(keys)
    const kept = this.#slots.get(send.id)
    this.#slots.delete(send.id)
    const timely = kept !== undefined && now() - kept <= SLOT_LATE_MS
    const slot = timely ? { kind: 'reserved' as const, at: kept } : await governor.slot(keys)
    this.#slotAt = slot.at
    const claimAt = slot.kind === 'reserved' ? slot.at - CLAIM_AHEAD_MS : slot.at
    if (slot.kind === 'reserved' && claimAt <= now()) return undefined
    if (this.#record.state === 'received')
      await this.#message.commitUnderLease(handled(this.#record, { at: now() }))
    if (slot.kind === 'reserved') this.#slots.set(send.id, slot.at)
    return { kind: 'wait', record: this.#record, until: claimAt }
  }

  async #attempt({ channel, message, callback, send }: Ready & { send: Send }) {
    const keys: PaceKeys | undefined = callback.paceKeys?.(channel, message)
    const { governor, now } = this.#options
    const { held } = this.#lease
    if (keys !== undefined) await awaitSlot({ at: this.#slotAt, keys, governor, now, held })
    if (!held()) throw new Superseded()
    const started = performance.now()
    const outcome = await callback.deliver({ channel, messageId: this.#record._id, message, send })
    const tooFast = outcome.kind === 'retryable' && outcome.code === TOO_FAST
    if (tooFast && keys !== undefined) await governor.slowDown(keys)
    return { outcome, ms: performance.now() - started }
  }

  /** Commits the outcome of a send. News of it that came meanwhile are merged: neither may undo the other. */
  async #settle(options: {
    index: number
    outcome: Outcome
    callback: Callback
    ms: number
  }): Promise<RunResult | { kind: 'next' }> {
    const { index, callback, ms } = options
    const { uncertainWindow, keptMs, now } = this.#options
    for (let merges = 0; merges < MAX_MERGES; merges++) {
      const { tries, sends } = this.#record
      const at = now()
      const attempt = attemptOf({ step: sends[index]?.id ?? '', outcome: options.outcome, at, ms })
      const outcome: Outcome = isSettled(sends[index])
        ? { kind: 'accepted', delivered: false }
        : options.outcome
      const settlement = settle({ outcome, tries, reports: callback.reports, uncertainWindow })
      const progress =
        settlement.kind === 'settled'
          ? settledSend(this.#record, { index, settlement, attempt, at, keptMs })
          : unsettled(this.#record, { index, settlement, attempt, at, keptMs })
      if (await this.#message.commitFact(progress)) return this.#after(progress)
      await this.#message.mergeNews()
    }
    throw new Superseded()
  }

  async #handlerFailed({ outcome, ms }: Extract<Prepared, { kind: 'failed' }>): Promise<RunResult> {
    const { keptMs, now } = this.#options
    const at = now()
    const attempt = attemptOf({ step: 'handler', outcome, at, ms })
    const settlement = settleFailure({
      outcome,
      tries: this.#record.tries,
      reports: false,
      uncertainWindow: 0,
    })
    const progress = unsettled(this.#record, { settlement, attempt, at, keptMs })
    await this.#message.commitUnderLease(progress)
    const after = this.#after(progress)
    return after.kind === 'next' ? { kind: 'reload', at } : after
  }

  async #end(end: End, answer = this.#record.answer): Promise<RunResult> {
    const { keptMs, now } = this.#options
    const options = { end, at: now(), keptMs, ...(answer === undefined ? {} : { answer }) }
    const progress = ended(this.#record, options)
    await this.#message.commitUnderLease(progress)
    return this.#closed(progress)
  }

  #after(progress: Progress): RunResult | { kind: 'next' } {
    if (progress.open !== true) return this.#closed(progress)
    if (progress.due === undefined) return { kind: 'next' }
    return this.#notDue() ?? { kind: 'wait', record: this.#record, until: progress.due.getTime() }
  }

  /** One wide line for each message that has reached an end. */
  #closed(progress: Progress): RunResult {
    // Not the thread: it may be the person's phone number.
    const { _id, workspace, channel, partition, receivedAt, requestId } = this.#record
    const { state, reason, fault } = progress
    const line = { messageId: _id, workspace, channel, partition, requestId, state, reason, fault }
    const ms = this.#options.now() - receivedAt.getTime()
    this.#options.log.info(
      { ...line, sends: progress.sends.length, attempts: progress.attempts.length, ms },
      'message',
    )
    return { kind: 'closed' }
  }
}
