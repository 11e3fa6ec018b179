import type { Log } from '@parley/shared/log'
import { Problem } from '@parley/shared/problem'
import { reject } from '@parley/shared/reject'
import type { TaskSubmission } from '@parley/shared/task-submission'
import { isUnavailable } from '@parley/shared/unavailable'
import type { ConfirmChannel, ConsumeMessage } from 'amqplib'
import type { Outcome } from './apply-submission.ts'
import { readSubmission } from './read-submission.ts'

const THREADS_AT_ONCE = 16
const MAX_FAILURES = 20

interface DeadLettered {
  delivery: ConsumeMessage
  reason: string
}

/**
 * Makes the worker of queue `tasks`: each thread's submissions one after another, threads concurrently. What can't
 * be read or recorded is dead-lettered. Rejects while the database is unavailable; then the batch is redelivered.
 */
export function workSubmissions(options: {
  apply(submission: TaskSubmission): Promise<Outcome>
  log: Log
}): (batch: ConsumeMessage[], channel: ConfirmChannel) => Promise<void> {
  const { apply, log } = options
  const failures = new WeakMap<ConsumeMessage, number>()
  /** Why it can't be applied; undefined when it was. Throws what may pass. */
  const work = async (delivery: ConsumeMessage, submission: TaskSubmission): Promise<string | undefined> => {
    const { workspace, messageId } = submission
    try {
      log.info({ workspace, messageId, outcome: await apply(submission) }, 'submission')
      return undefined
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return reasonOf(error)
      if (error instanceof Problem || isUnavailable(error)) throw error
      const failed = (failures.get(delivery) ?? 0) + 1
      failures.set(delivery, failed)
      if (failed < MAX_FAILURES) throw error
      return 'it could not be applied'
    }
  }
  return async (batch, channel) => {
    const deadLettered: DeadLettered[] = []
    const threads = new Map<string, { delivery: ConsumeMessage; submission: TaskSubmission }[]>()
    for (const delivery of batch) {
      const reading = readSubmission(delivery)
      if (reading.kind === 'rejected') deadLettered.push({ delivery, reason: reading.reason })
      else {
        const { submission } = reading
        const name = `${submission.workspace}/${submission.thread}`
        threads.set(name, [...(threads.get(name) ?? []), { delivery, submission }])
      }
    }
    await sideBySide([...threads.values()], async (thread) => {
      for (const { delivery, submission } of thread) {
        const reason = await work(delivery, submission)
        if (reason !== undefined) deadLettered.push({ delivery, reason })
      }
    })
    // Last, so that a redelivered batch dead-letters nothing twice.
    for (const each of deadLettered) await reject({ channel, ...each, log })
  }
}

function reasonOf({ code, options }: Problem): string {
  const [error] = options.errors ?? []
  return error === undefined ? code : `${code}: ${error.code} at ${error.path}`
}

async function sideBySide<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += THREADS_AT_ONCE) {
    const results = await Promise.allSettled(items.slice(at, at + THREADS_AT_ONCE).map(work))
    for (const result of results) if (result.status === 'rejected') throw result.reason
  }
}
