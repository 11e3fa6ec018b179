import { isUnavailable, Problem } from '@parley/shared/problem'
import { isNewsWriter } from './commit.ts'
import type { MessageRecord, Progress } from './message-record.ts'
import type { Calling } from './threads/calling.ts'

const COMMIT_PAUSE_MS = 250
const FACT_FOR_MS = 60_000

/** Somebody else has written the message, or the lease is gone. */
export class Superseded extends Error {}

/** Whether a server or service that we depend on is away. */
export function isAway(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof Problem && error.code === 'unavailable')
}

/** What a copy has of the messages of a partition, and the way to write them. */
export interface Hold {
  /** Whether they are this copy's to run: judged on the monotonic clock, right before each use. */
  held(): boolean
  /**
   * As `Committer.commit`; resolves with the message as it then is, or undefined when somebody else has written.
   * With `lazily` it may be stored later, or never should this process die: the message then runs again from what
   * the store has of it.
   */
  commit(
    record: MessageRecord,
    progress: Progress,
    options?: { lazily?: boolean },
  ): Promise<MessageRecord | undefined>
}

type CommitOptions = Parameters<Hold['commit']>[2]

/** What a copy has of the messages of a partition, for the run of one of them. */
export interface RunHold extends Hold {
  /** Waits for an answer of somebody else. */
  calling: Calling
}

/** A message as it stands in the store, as far as this copy knows, and the ways to write it. */
export class WrittenMessage {
  record: MessageRecord
  readonly #hold: Hold
  readonly #read: (id: string) => Promise<MessageRecord | null>

  constructor(options: {
    record: MessageRecord
    hold: Hold
    read(id: string): Promise<MessageRecord | null>
  }) {
    this.record = options.record
    this.#hold = options.hold
    this.#read = options.read
  }

  /**
   * Commits what may only happen while the lease holds; tries again while the database is away and it does.
   * Throws {@link Superseded}.
   */
  async commitUnderLease(progress: Progress, options?: CommitOptions): Promise<void> {
    if (!(await this.#commit(progress, this.#hold.held, options))) throw new Superseded()
  }

  /**
   * Commits the outcome of a send, which is true whoever holds the lease, so it is tried for a minute. False when
   * somebody else has written the message since.
   */
  commitFact(progress: Progress, options?: CommitOptions): Promise<boolean> {
    const deadline = performance.now() + FACT_FOR_MS
    return this.#commit(progress, () => performance.now() < deadline, options)
  }

  /** Takes over what the provider's news have written. Throws {@link Superseded} when it was anybody else. */
  async mergeNews(): Promise<void> {
    const written = await this.#read(this.record._id)
    if (written?.open !== true || !isNewsWriter(written.writer) || !this.#hold.held()) throw new Superseded()
    this.record = written
  }

  async #commit(progress: Progress, allowed: () => boolean, options: CommitOptions): Promise<boolean> {
    while (allowed()) {
      try {
        const written = await this.#hold.commit(this.record, progress, options)
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
