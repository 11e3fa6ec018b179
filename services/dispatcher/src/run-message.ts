import type { Log } from '@parley/shared/log'
import type { WebhookMessage } from '@parley/shared/message'
import { isUnavailable, Problem } from '@parley/shared/problem'
import type { Callback } from './callbacks/callback.ts'
import type { Channel, Channels } from './channels.ts'
import type { Committer } from './commit.ts'
import type { Handle } from './handlers/handle.ts'
import type { MessageRecord, Progress } from './message-record.ts'
import type { Outcome } from './outcome.ts'
import type { Lease } from './partitions/lease-store.ts'
import { type Prepared, prepare } from './prepare.ts'
import { attemptOf, claimed, type End, ended, settledSend, unsettled } from './progress.ts'
import { settle, settleFailure } from './settle.ts'

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
  log: Log
  uncertainWindow: number
  keptMs: number
  now: () => number
}

const TROUBLE_PAUSE_MS = 1_000
const COMMIT_PAUSE_MS = 250
const SETTLE_FOR_MS = 60_000

/** Somebody else has written the message, or the lease is gone. */
class Superseded extends Error {}

/** Makes the runner of messages: prepare, then send and settle, one send after the other. */
export function createRunMessage(options: RunOptions): RunMessage {
  return async (record, lease) => {
    const run = new Run(record, lease, options)
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

class Run {
  #record: MessageRecord
  readonly #lease: Lease
  readonly #options: RunOptions

  constructor(record: MessageRecord, lease: Lease, options: RunOptions) {
    this.#record = record
    this.#lease = lease
    this.#options = options
  }

  async go(): Promise<RunResult> {
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

  async #sendAll(ready: Extract<Prepared, { kind: 'ready' }>): Promise<RunResult> {
    const { channel, message, sends, answer } = ready
    const callback = this.#options.callbacks[channel.callback]
    let index = sends.findIndex(({ state }) => state === 'pending' || state === 'claimed')
    if (sends[index]?.state === 'claimed' && this.#record.due === undefined) {
      // A claim without an outcome: whoever made it is gone, and it may have been sent.
      const outcome: Outcome = {
        kind: 'uncertain',
        code: 'interrupted',
        fault: 'us',
        reason: 'The send was interrupted.',
      }
      const settled = await this.#settle({ index, outcome, callback, ms: 0 })
      if (settled.kind !== 'next') return settled
    }
    const first = { index, sends, at: this.#options.now(), ...(answer === undefined ? {} : { answer }) }
    await this.#commitUnderLease(claimed(this.#record, first))
    for (;;) {
      const { outcome, ms } = await this.#attempt({ callback, channel, message, index })
      const settled = await this.#settle({ index, outcome, callback, ms })
      if (settled.kind !== 'next') return settled
      index++
    }
  }

  async #attempt(options: { callback: Callback; channel: Channel; message: WebhookMessage; index: number }) {
    const { callback, channel, message, index } = options
    const send = this.#record.sends[index]
    if (send === undefined || !this.#lease.held()) throw new Superseded()
    const started = performance.now()
    const outcome = await callback.deliver({ channel, messageId: this.#record._id, message, send })
    return { outcome, ms: performance.now() - started }
  }

  async #settle(options: {
    index: number
    outcome: Outcome
    callback: Callback
    ms: number
  }): Promise<RunResult | { kind: 'next' }> {
    const { index, outcome, callback, ms } = options
    const { uncertainWindow, keptMs, now } = this.#options
    const { tries, sends } = this.#record
    const at = now()
    const attempt = attemptOf({ step: sends[index]?.id ?? '', outcome, at, ms })
    const settlement = settle({ outcome, tries, reports: callback.reports, uncertainWindow })
    if (settlement.kind !== 'settled') {
      const progress = unsettled(this.#record, { index, settlement, attempt, at, keptMs })
      await this.#commitFact(progress)
      return this.#afterFailure(progress)
    }
    const progress = settledSend(this.#record, { index, settlement, attempt, at, keptMs })
    await this.#commitFact(progress)
    return progress.open === true ? { kind: 'next' } : this.#closed(progress)
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
    await this.#commitUnderLease(progress)
    return this.#afterFailure(progress)
  }

  async #end(end: End, answer: string | undefined): Promise<RunResult> {
    const { keptMs, now } = this.#options
    const options = { end, at: now(), keptMs, ...(answer === undefined ? {} : { answer }) }
    const progress = ended(this.#record, options)
    await this.#commitUnderLease(progress)
    return this.#closed(progress)
  }

  #afterFailure(progress: Progress): RunResult {
    if (progress.due === undefined) return this.#closed(progress)
    return { kind: 'wait', record: this.#record, until: progress.due.getTime() }
  }

  /** Commits what may only happen while the lease holds; tries again while the database is away and it does. */
  #commitUnderLease(progress: Progress): Promise<void> {
    return this.#commit(progress, () => this.#lease.held())
  }

  /** Commits the outcome of a send: true whoever holds the lease, so it is tried for a minute. */
  #commitFact(progress: Progress): Promise<void> {
    const deadline = performance.now() + SETTLE_FOR_MS
    return this.#commit(progress, () => performance.now() < deadline)
  }

  async #commit(progress: Progress, allowed: () => boolean): Promise<void> {
    while (allowed()) {
      try {
        if (!(await this.#options.committer.commit(this.#record, progress))) throw new Superseded()
        const { due: _due, open: _open, ...rest } = this.#record
        this.#record = { ...rest, ...progress, revision: this.#record.revision + 1 }
        return
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, COMMIT_PAUSE_MS))
      }
    }
    throw new Superseded()
  }

  /** One wide line for each message that has reached an end. */
  #closed(progress: Progress): RunResult {
    const { _id, workspace, channel, thread, partition, receivedAt, requestId } = this.#record
    const { state, reason, fault } = progress
    const line = { messageId: _id, workspace, channel, thread, partition, requestId, state, reason, fault }
    const ms = this.#options.now() - receivedAt.getTime()
    this.#options.log.info(
      { ...line, sends: progress.sends.length, attempts: progress.attempts.length, ms },
      'message',
    )
    return { kind: 'closed' }
  }
}
