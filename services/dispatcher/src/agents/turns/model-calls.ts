import { defined } from '@parley/shared/defined'
import { createMediaSlots, type MediaKind, type MediaSlots } from '../model/media-slots.ts'
import { RoomQueue } from '../model/room-queue.ts'
import type { ModelResult } from '../model-client.ts'

/** Calls of models of one instance that are in flight, or whose result was not fetched yet. */
export const MAX_CALLS = 4_096
/** Of them, those of one workspace. */
const MAX_OF_WORKSPACE = MAX_CALLS / 2
/** Results that were not fetched yet: with so many of them no call begins, for a crash would lose what they cost. */
const MAX_UNFETCHED = 64
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
  workspace: number
  /** The messages are not this instance's to run any more: the call is aborted, and its result dropped. */
  ended: AbortSignal
  timeoutMs: number
  /** How many models there are to choose from. */
  choices: number
  /** What it has in memory while it is made. */
  media?: MediaKind | undefined
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
   * Starts a call; `settled` resolves when it has ended, in any case. Where there is no room nothing is started, and it
   * is to be tried again after `room`.
   */
  start(call: ModelCall): { kind: 'started'; settled: Promise<void> } | { kind: 'busy'; room: Promise<void> }
  /** Resolves when there may be room for such a call; undefined where there is. */
  room(call: Pick<ModelCall, 'workspace' | 'ended'>): Promise<void> | undefined
  /** Begins no more calls of the partition whose signal this is; resolves when the results of all others were fetched. */
  drain(ended: AbortSignal): Promise<void>
  /** The result is stored, and not needed any more. */
  forget(key: string): void
  /** In flight, or not fetched yet. */
  size(): number
}

interface Entry {
  state: ModelCallState
  workspace: number
  partition: OfPartition
  controller: AbortController
  /** Gives back the slot for what it has in memory. */
  release?: () => void
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
  readonly #ofWorkspace = new Map<number, number>()
  readonly #partitions = new WeakMap<AbortSignal, OfPartition>()
  readonly #waiting = new RoomQueue((workspace) => this.#hasRoom(workspace))
  readonly #mediaSlots: Record<MediaKind, MediaSlots>
  #unfetched = 0

  constructor(mediaSlots: Record<MediaKind, MediaSlots>) {
    this.#mediaSlots = mediaSlots
  }

  find(key: string): ModelCallState | undefined {
    return this.#calls.get(key)?.state
  }

  size(): number {
    return this.#calls.size
  }

  start(call: ModelCall): ReturnType<ModelCalls['start']> {
    const room = this.room(call)
    if (room !== undefined) return { kind: 'busy', room }
    const slots = call.media && this.#mediaSlots[call.media]
    const release = slots?.take(call.workspace)
    if (slots !== undefined && release === undefined)
      return { kind: 'busy', room: slots.room(call.workspace) }
    this.#ofWorkspace.set(call.workspace, this.#inWorkspace(call.workspace) + 1)
    const controller = new AbortController()
    const partition = this.#partitionOf(call.ended)
    const { promise: settled, resolve } = Promise.withResolvers<void>()
    const entry: Entry = {
      state: { kind: 'asking', settled },
      workspace: call.workspace,
      partition,
      controller,
      ...defined({ release }),
    }
    this.#calls.set(call.key, entry)
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
    return this.#hasRoom(workspace) ? undefined : this.#waiting.add(workspace)
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
    const { partition, workspace } = entry
    if (entry.state.kind === 'ended') this.#unfetched--
    this.#calls.delete(key)
    partition.keys.delete(key)
    if (partition.keys.size === 0) partition.drained?.resolve()
    const left = this.#inWorkspace(workspace) - 1
    if (left > 0) this.#ofWorkspace.set(workspace, left)
    else this.#ofWorkspace.delete(workspace)
    this.#waiting.admit(1)
  }

  async #follow(
    { key, timeoutMs, choices }: Pick<ModelCall, 'key' | 'timeoutMs' | 'choices'>,
    entry: Entry,
    answer: Promise<ModelResult>,
  ): Promise<void> {
    const started = performance.now()
    const result = await resultInTime(timeoutMs + GRACE_MS, entry.controller, answer)
    entry.release?.()
    if (this.#calls.get(key) !== entry) return
    const ms = performance.now() - started
    this.#unfetched++
    entry.state = { kind: 'ended', result, choices, ms, isTimedOut: ms >= timeoutMs - TIMER_MS }
    setTimeout(() => {
      if (this.#calls.get(key) === entry) this.forget(key)
    }, UNFETCHED_MS).unref()
  }

  #hasRoom(workspace: number): boolean {
    return (
      this.#calls.size < MAX_CALLS &&
      this.#inWorkspace(workspace) < MAX_OF_WORKSPACE &&
      this.#unfetched < MAX_UNFETCHED
    )
  }

  #inWorkspace(workspace: number): number {
    return this.#ofWorkspace.get(workspace) ?? 0
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
    for (const key of partition.keys) {
      this.#calls.get(key)?.controller.abort()
      this.forget(key)
    }
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
