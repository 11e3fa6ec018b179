import type { ModelResult } from '../model-client.ts'

/** Calls of models of one instance that are in flight, or whose result was not fetched yet. */
export const MAX_CALLS = 4_096
/** Of them, those of one workspace. */
const MAX_OF_WORKSPACE = MAX_CALLS / 2
/** A result that nobody fetches is dropped: its message is run elsewhere. */
const UNFETCHED_MS = 60_000
/** A client that does not answer in time is waited for so much longer. */
const GRACE_MS = 5_000
/** How inexact timers are. */
const TIMER_MS = 20
const BUSY_MS = 500
/** Those that wait for room ask again one after another. */
const SPACING_MS = 5
const MAX_SPREAD_MS = 60_000

/** A call as it stands. */
export type ModelCallState =
  | { kind: 'asking'; settled: Promise<void> }
  | {
      kind: 'ended'
      result: ModelResult
      choices: number
      /** How long it took, in milliseconds, and whether that is all the time that it had. */
      ms: number
      isTimedOut: boolean
    }

export interface ModelCall {
  /** Of the message's turn. */
  key: string
  workspace: number
  /** The messages are not this instance's to run any more: the call is aborted, and its result dropped. */
  ended: AbortSignal
  timeoutMs: number
  /** How many models there are to choose from. */
  choices: number
  ask(signal: AbortSignal): Promise<ModelResult>
}

/**
 * The calls of models that this instance makes, in memory alone: a result that is lost costs one call again. Whoever
 * runs a message starts its call, leaves, and fetches the result in a later run.
 */
export interface ModelCalls {
  /** The call of this key; undefined where there is none, or its result is lost. */
  find(key: string): ModelCallState | undefined
  /**
   * Starts a call, and resolves when it has ended, in any case. Where too many are in flight nothing is started, and it
   * is to be asked again at `until` (milliseconds since the epoch).
   */
  start(call: ModelCall): { kind: 'started'; settled: Promise<void> } | { kind: 'busy'; until: number }
  /** The result is stored, and not needed any more. */
  forget(key: string): void
  /** In flight, or not fetched yet. */
  size(): number
}

interface Entry {
  state: ModelCallState
  workspace: number
  controller: AbortController
}

export function createModelCalls({ now }: { now: () => number }): ModelCalls {
  return new InMemoryCalls(now)
}

class InMemoryCalls implements ModelCalls {
  readonly #now: () => number
  readonly #calls = new Map<string, Entry>()
  readonly #ofWorkspace = new Map<number, number>()
  /** One listener for each partition's signal, however many calls there are. */
  readonly #ofSignal = new WeakMap<AbortSignal, Set<string>>()
  #lastTurn = 0

  constructor(now: () => number) {
    this.#now = now
  }

  find(key: string): ModelCallState | undefined {
    return this.#calls.get(key)?.state
  }

  size(): number {
    return this.#calls.size
  }

  start(call: ModelCall): ReturnType<ModelCalls['start']> {
    const inWorkspace = this.#ofWorkspace.get(call.workspace) ?? 0
    if (this.#calls.size >= MAX_CALLS || inWorkspace >= MAX_OF_WORKSPACE)
      return { kind: 'busy', until: this.#nextTurn() }
    this.#ofWorkspace.set(call.workspace, inWorkspace + 1)
    const controller = new AbortController()
    const { promise: settled, resolve } = Promise.withResolvers<void>()
    const entry: Entry = { state: { kind: 'asking', settled }, workspace: call.workspace, controller }
    this.#calls.set(call.key, entry)
    this.#abortWith(call.ended, call.key)
    // Called here, so that what the call was asked with is referred to by nobody but the client.
    const answer = Promise.try(() => call.ask(controller.signal))
    const { key, ended, timeoutMs, choices } = call
    void this.#follow({ key, ended, timeoutMs, choices }, entry, answer).then(resolve)
    return { kind: 'started', settled }
  }

  forget(key: string): void {
    const entry = this.#calls.get(key)
    if (entry === undefined) return
    this.#calls.delete(key)
    const left = (this.#ofWorkspace.get(entry.workspace) ?? 1) - 1
    if (left > 0) this.#ofWorkspace.set(entry.workspace, left)
    else this.#ofWorkspace.delete(entry.workspace)
  }

  async #follow(
    { key, ended, timeoutMs, choices }: Pick<ModelCall, 'key' | 'ended' | 'timeoutMs' | 'choices'>,
    entry: Entry,
    answer: Promise<ModelResult>,
  ): Promise<void> {
    const started = performance.now()
    const result = await resultInTime(timeoutMs + GRACE_MS, entry.controller, answer)
    this.#ofSignal.get(ended)?.delete(key)
    if (this.#calls.get(key) !== entry) return
    const ms = performance.now() - started
    entry.state = { kind: 'ended', result, choices, ms, isTimedOut: ms >= timeoutMs - TIMER_MS }
    setTimeout(() => {
      if (this.#calls.get(key) === entry) this.forget(key)
    }, UNFETCHED_MS).unref()
  }

  #abortWith(ended: AbortSignal, key: string): void {
    const known = this.#ofSignal.get(ended)
    if (known !== undefined) {
      known.add(key)
      return
    }
    const keys = new Set([key])
    this.#ofSignal.set(ended, keys)
    ended.addEventListener('abort', () => this.#abortAll(keys), { once: true })
  }

  #abortAll(keys: Set<string>): void {
    for (const key of keys) {
      this.#calls.get(key)?.controller.abort()
      this.forget(key)
    }
  }

  #nextTurn(): number {
    const from = this.#now() + BUSY_MS
    this.#lastTurn = Math.min(Math.max(this.#lastTurn + SPACING_MS, from), from + MAX_SPREAD_MS)
    return this.#lastTurn
  }
}

const LATE: ModelResult = { kind: 'retryable', code: 'timeout', reason: 'The model did not answer in time.' }
const ABORTED: ModelResult = { kind: 'retryable', code: 'aborted', reason: 'The call was aborted.' }
const CRASHED: ModelResult = {
  kind: 'retryable',
  code: 'internal_error',
  reason: 'Something went wrong on our side.',
}

/** Whatever the client does, there is a result in time, and none is waited for once the call was aborted. */
function resultInTime(
  ms: number,
  controller: AbortController,
  answer: Promise<ModelResult>,
): Promise<ModelResult> {
  const { signal } = controller
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(LATE)
      controller.abort()
    }, ms)
    const end = (result: ModelResult) => {
      clearTimeout(timer)
      resolve(result)
    }
    signal.addEventListener('abort', () => end(ABORTED), { once: true })
    answer.then(end, () => end(CRASHED))
  })
}
