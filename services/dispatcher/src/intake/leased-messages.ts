import type { LeasedMessages } from '../deliver/written-message.ts'
import { advanced } from '../message/message-record.ts'
import type { Committer } from '../store/commit.ts'
import type { ThreadLog } from '../thread-log/thread-log.ts'

/** Writes the messages of a partition until its lease is handed over or lost. */
export interface PartitionMessages extends LeasedMessages {
  /** Waits for the answers of handlers no more. */
  handOver(): void
  /** They are not this instance's to run any more. */
  end(): void
}

export function createPartitionMessages(options: {
  /** Of this term of the lease alone, so that a claim of another term is never taken for one of this. */
  writer: string
  /** Whether the lease is valid. */
  isLeased(): boolean
  committer: Committer
  /** Sees each message as it was stored. */
  threadLog: Pick<ThreadLog, 'touch'>
}): PartitionMessages {
  const { writer, isLeased, committer, threadLog } = options
  const handOver = new AbortController()
  const end = new AbortController()
  return {
    isLeased,
    ended: end.signal,
    handedOver: handOver.signal,
    async commit(record, progress) {
      if (!(await committer.commit(record, progress, writer))) return undefined
      const next = advanced(record, progress)
      next.updatedAt = new Date()
      threadLog.touch(next)
      return next
    },
    release: ({ _id, revision }, indexes) =>
      committer.release({ _id, revision: revision + 1, writer }, indexes),
    handOver: () => handOver.abort(),
    end() {
      handOver.abort()
      end.abort()
    },
  }
}
