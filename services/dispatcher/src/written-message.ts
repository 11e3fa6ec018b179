import { isUnavailable, Problem } from '@parley/shared/problem'
import { type Committer, isNewsWriter } from './commit.ts'
import type { MessageRecord, Progress } from './message-record.ts'
import type { Lease } from './partitions/lease-store.ts'

const COMMIT_PAUSE_MS = 250
const FACT_FOR_MS = 60_000

/** Somebody else has written the message, or the lease is gone. */
export class Superseded extends Error {}

/** Whether a server or service that we depend on is away. */
export function isAway(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof Problem && error.code === 'unavailable')
}

/** A message as it stands in the store, as far as this copy knows, and the ways to write it. */
export class WrittenMessage {
  record: MessageRecord
  readonly #lease: Lease
  readonly #committer: Committer
  readonly #read: (id: string) => Promise<MessageRecord | null>

  constructor(options: {
    record: MessageRecord
    lease: Lease
    committer: Committer
    read(id: string): Promise<MessageRecord | null>
  }) {
    this.record = options.record
    this.#lease = options.lease
    this.#committer = options.committer
    this.#read = options.read
  }

  /**
   * Commits what may only happen while the lease holds; tries again while the database is away and it does.
   * Throws {@link Superseded}.
   */
  async commitUnderLease(progress: Progress): Promise<void> {
    if (!(await this.#commit(progress, () => this.#lease.held()))) throw new Superseded()
  }

  /**
   * Commits the outcome of a send, which is true whoever holds the lease, so it is tried for a minute. False when
   * somebody else has written the message since.
   */
  commitFact(progress: Progress): Promise<boolean> {
    const deadline = performance.now() + FACT_FOR_MS
    return this.#commit(progress, () => performance.now() < deadline)
  }

  /** Takes over what the provider's news have written. Throws {@link Superseded} when it was anybody else. */
  async mergeNews(): Promise<void> {
    const written = await this.#read(this.record._id)
    if (written?.open !== true || !isNewsWriter(written.writer) || !this.#lease.held()) throw new Superseded()
    this.record = written
  }

  async #commit(progress: Progress, allowed: () => boolean): Promise<boolean> {
    while (allowed()) {
      try {
        if (!(await this.#committer.commit(this.record, progress))) return false
        const { due: _due, open: _open, ...rest } = this.record
        this.record = { ...rest, ...progress, revision: this.record.revision + 1 }
        return true
      } catch (error) {
        if (!isUnavailable(error)) throw error
        await new Promise((resolve) => setTimeout(resolve, COMMIT_PAUSE_MS))
      }
    }
    throw new Superseded()
  }
}
