import { defined } from '@parley/shared/defined'
import { mayTake, type SlotLimits } from '@parley/shared/fair-slots'
import { CallSlots, createMediaSlots, type MediaKind } from '../model/media-slots.ts'
import type { ModelResult } from '../model-client.ts'

/** Calls of models of one instance that are in flight, or whose result was not fetched yet. */
export const MAX_CALLS = 8_192
/** One workspace alone has 2,048. */
const IN_FLIGHT: SlotLimits = { of: 'calls of models', total: MAX_CALLS, spare: 3 }
/**
 * Results that were not fetched yet: a workspace with its share of them, 64 where it is alone, begins no call, for a crash
 * would lose what they cost.
 */
const UNFETCHED = { total: 256, spare: 3 }
/** A result that nobody fetches is dropped: its message is run elsewhere. */
const UNFETCHED_MS = 60_000
/** A client that does not answer in time is waited for so much longer. */
const GRACE_MS = 5_000
/** How inexact timers are. */
const TIMER_MS = 20

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
  message: string
  workspace: number
  /** The messages are not this instance's to run any more: the call is aborted, and its result dropped. */
  ended: AbortSignal
  timeoutMs: number
  /** How many models there are to choose from. */
  choices: number
  /** The media that it has in memory while it is made. */
  media?: MediaKind | undefined
  ask(signal: AbortSignal): Promise<ModelResult>
}

/**
 * The calls of models that this instance makes, in memory alone: a result that is lost costs one call again. Whoever
 * runs a message starts its call, leaves, and fetches the result in a later run.
 */
export interface ModelCalls {
  /** True if there are calls of this message: mostly there are none. */
  has(message: string): boolean
  /** The call of this key; undefined where there is none, or its result is lost. */
  find(key: string): ModelCallState | undefined
  /**
   * Starts a call; `settled` resolves when it has ended, in any case. Where there is no room nothing is started, and it
   * is to be tried again after `room`.
   */
  start(call: ModelCall): { kind: 'started'; settled: Promise<void> } | { kind: 'busy'; room: Promise<void> }
  /** Resolves when there may be room for such a call; undefined where there is. */
  room(call: Pick<ModelCall, 'workspace' | 'ended'>): Promise<void> | undefined
  /** Begins no more calls of the partition whose signal this is; resolves when the results of all others were fetched. */
  drain(ended: AbortSignal): Promise<void>
  /** The result is stored, or not needed any more: a call in flight is aborted. */
  forget(key: string): void
}

interface Entry {
  state: ModelCallState
  message: string
  workspace: number
  partition: OfPartition
  controller: AbortController
  release?: () => void
  /** Gives back the slot for what it has in memory. */
  releaseMedia?: () => void
  /** Drops its result. */
  timer?: NodeJS.Timeout
}

/** The calls of a partition, by one listener of its signal however many they are. */
interface OfPartition {
  keys: Set<string>
  ended: Promise<void>
  /** There once the partition is handed over, or lost. */
  drained?: PromiseWithResolvers<void>
}

export function createModelCalls(mediaSlots = createMediaSlots()): ModelCalls {
  return new InMemoryCalls(mediaSlots)
}

class InMemoryCalls implements ModelCalls {
  readonly #calls = new Map<string, Entry>()
  /** How many there are of each message. */
  readonly #callsOf = new Map<string, number>()
  readonly #partitions = new WeakMap<AbortSignal, OfPartition>()
  readonly #slots = new CallSlots(IN_FLIGHT, (workspace) => this.#mayBegin(workspace))
  readonly #unfetchedOf = new Map<number, number>()
  readonly #mediaSlots: Record<MediaKind, CallSlots>
  #unfetched = 0

  constructor(mediaSlots: Record<MediaKind, CallSlots>) {
    this.#mediaSlots = mediaSlots
  }

  has(message: string): boolean {
    return this.#callsOf.has(message)
  }

  find(key: string): ModelCallState | undefined {
    return this.#calls.get(key)?.state
  }

  start(call: ModelCall): ReturnType<ModelCalls['start']> {
    const room = this.room(call)
    if (room !== undefined) return { kind: 'busy', room }
    const { workspace, message } = call
    const slots = call.media && this.#mediaSlots[call.media]
    const releaseMedia = slots?.take(workspace, () => this.forget(call.key))
    if (slots !== undefined && releaseMedia === undefined)
      return { kind: 'busy', room: slots.room(workspace) }
    const release = this.#slots.take(workspace)
    const controller = new AbortController()
    const partition = this.#partitionOf(call.ended)
    const { promise: settled, resolve } = Promise.withResolvers<void>()
    const entry: Entry = {
      state: { kind: 'asking', settled },
      message,
      workspace,
      partition,
      controller,
      ...defined({ release, releaseMedia }),
    }
    this.#calls.set(call.key, entry)
    count(this.#callsOf, message, 1)
    partition.keys.add(call.key)
    // Called here, so that what the call was asked with is referred to by nobody but the client.
    const answer = Promise.try(() => call.ask(controller.signal))
    const { key, timeoutMs, choices } = call
    void this.#follow({ key, timeoutMs, choices }, entry, answer).then(resolve)
    return { kind: 'started', settled }
  }

  room({ workspace, ended }: Pick<ModelCall, 'workspace' | 'ended'>): Promise<void> | undefined {
    const partition = this.#partitionOf(ended)
    if (partition.drained !== undefined) return partition.ended
    return this.#slots.hasRoom(workspace) ? undefined : this.#slots.room(workspace)
  }

  drain(ended: AbortSignal): Promise<void> {
    const partition = this.#partitionOf(ended)
    partition.drained ??= Promise.withResolvers()
    if (partition.keys.size === 0) partition.drained.resolve()
    return partition.drained.promise
  }

  forget(key: string): void {
    const entry = this.#calls.get(key)
    if (entry === undefined) return
    const { message, partition, workspace } = entry
    if (entry.state.kind === 'ended') this.#countUnfetched(workspace, -1)
    clearTimeout(entry.timer)
    this.#calls.delete(key)
    count(this.#callsOf, message, -1)
    partition.keys.delete(key)
    if (partition.keys.size === 0) partition.drained?.resolve()
    entry.release?.()
    if (entry.state.kind === 'asking') entry.controller.abort()
  }

  async #follow(
    { key, timeoutMs, choices }: Pick<ModelCall, 'key' | 'timeoutMs' | 'choices'>,
    entry: Entry,
    answer: Promise<ModelResult>,
  ): Promise<void> {
    const started = performance.now()
    const result = await resultInTime(timeoutMs + GRACE_MS, entry.controller, answer)
    entry.releaseMedia?.()
    if (this.#calls.get(key) !== entry) return
    const ms = performance.now() - started
    this.#countUnfetched(entry.workspace, 1)
    entry.state = { kind: 'ended', result, choices, ms, isTimedOut: ms >= timeoutMs - TIMER_MS }
    entry.timer = setTimeout(() => this.forget(key), UNFETCHED_MS).unref()
  }

  #mayBegin(workspace: number): boolean {
    return mayTake({ own: this.#unfetchedOf.get(workspace) ?? 0, all: this.#unfetched }, UNFETCHED)
  }

  #countUnfetched(workspace: number, change: 1 | -1): void {
    this.#unfetched += change
    count(this.#unfetchedOf, workspace, change)
  }

  #partitionOf(signal: AbortSignal): OfPartition {
    const known = this.#partitions.get(signal)
    if (known !== undefined) return known
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    const partition: OfPartition = { keys: new Set(), ended }
    this.#partitions.set(signal, partition)
    const end = () => {
      this.#abortAll(partition)
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
    return partition
  }

  #abortAll(partition: OfPartition): void {
    // A run that goes on for a moment must not begin another.
    partition.drained ??= Promise.withResolvers()
    for (const key of partition.keys) this.forget(key)
  }
}

function count<K>(counts: Map<K, number>, key: K, change: 1 | -1): void {
  const counted = (counts.get(key) ?? 0) + change
  if (counted > 0) counts.set(key, counted)
  else counts.delete(key)
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
