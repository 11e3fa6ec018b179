import { isUnavailable } from '@parley/shared/unavailable'
import type { MessageRecord, Progress } from '../message/message-record.ts'
import { isStatusWriter } from '../store/commit.ts'

const COMMIT_PAUSE_MS = 250
const FACT_FOR_MS = 60_000
const RELEASE_FOR_MS = 10_000
const MAX_MERGES = 20

/** Somebody else has written the message, or the lease is gone. */
export class Superseded extends Error {}

/** Writes the messages of a partition while this instance has its lease. */
export interface LeasedMessages {
  /** True if they are this instance's to run: judged on the monotonic clock, right before each use. */
  isLeased(): boolean
  /** Aborts when they are not this instance's to run any more, as far as that is known. */
  readonly ended: AbortSignal
  /**
   * Aborts before that, once their hand-over has waited long enough for what handlers answer: the next owner of the
   * lease asks them again.
   */
  readonly handedOver: AbortSignal
  /**
   * As `Committer.commit`; resolves with the message as it then is, or undefined when somebody else has written.
   * With `deferrable` it may be stored later, or never should this process die: the message then runs again from what
   * the store has of it.
   */
  commit(
    record: MessageRecord,
    progress: Progress,
    options?: { deferrable?: boolean },
  ): Promise<MessageRecord | undefined>
  /** Resolves once it is in the store; false when it is somebody else's. */
  ensureStored(record: MessageRecord): Promise<boolean>
  /**
   * Takes back the claims of sends, which a commit on `record` has written or may have written. Leaves the message
   * alone where somebody else has written since.
   */
  release(record: MessageRecord, indexes: readonly number[]): Promise<void>
}

type CommitOptions = Parameters<LeasedMessages['commit']>[2]

/** A message as it stands in the store, as far as this instance knows, and how it is written. */
export class WrittenMessage {
  record: MessageRecord
  readonly #leased: LeasedMessages
  readonly #read: (id: string) => Promise<MessageRecord | null>

  constructor(options: {
    record: MessageRecord
    leased: LeasedMessages
    read(id: string): Promise<MessageRecord | null>
  }) {
    this.record = options.record
    this.#leased = options.leased
    this.#read = options.read
  }

  /**
   * Commits what may only happen while the lease is valid; retries while it is and the database is unavailable.
   * Throws {@link Superseded}.
   */
  async commitUnderLease(progress: Progress, options?: CommitOptions): Promise<void> {
    if (!(await this.#commit(progress, () => this.#leased.isLeased(), options))) throw new Superseded()
  }

  /**
   * As {@link commitUnderLease}; what the provider's statuses wrote meanwhile is merged, and the progress made anew
   * of it.
   */
  async commitMerged(progressOf: (record: MessageRecord) => Progress): Promise<void> {
    for (let merges = 0; merges < MAX_MERGES; merges++) {
      if (await this.#commit(progressOf(this.record), () => this.#leased.isLeased())) return
      await this.mergeStatuses()
    }
    throw new Superseded()
  }

  /**
   * Commits the outcome of a send, which is true whoever has the lease, so it is tried for a minute. False when
   * somebody else has written the message since.
   */
  commitFact(progress: Progress, options?: CommitOptions): Promise<boolean> {
    const deadline = performance.now() + FACT_FOR_MS
    return this.#commit(progress, () => performance.now() < deadline, options)
  }

  /**
   * Takes back claims that were committed on `record`, or may have been, and under which nothing has left: whoever
   * runs the message next sends at once. Tries for 10 s, then the sends count as uncertain. Never rejects.
   */
  async release(record: MessageRecord, ...indexes: number[]): Promise<void> {
    const deadline = performance.now() + RELEASE_FOR_MS
    while (performance.now() < deadline) {
      try {
        return await this.#leased.release(record, indexes)
      } catch (error) {
        if (!isUnavailable(error)) return
        await new Promise((resolve) => setTimeout(resolve, COMMIT_PAUSE_MS))
      }
    }
  }

  /** Takes over what the provider's statuses have written. Throws {@link Superseded} when it was anybody else. */
  async mergeStatuses(): Promise<void> {
    const written = await this.#read(this.record._id)
    if (written?.open !== true || !isStatusWriter(written.writer) || !this.#leased.isLeased())
      throw new Superseded()
    this.record = written
  }

  async #commit(progress: Progress, allowed: () => boolean, options?: CommitOptions): Promise<boolean> {
    while (allowed()) {
      try {
        const written = await this.#leased.commit(this.record, progress, options)
        if (written === undefined) return false
        this.record = written
        return true
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, COMMIT_PAUSE_MS))
      }
    }
    throw new Superseded()
  }
}
