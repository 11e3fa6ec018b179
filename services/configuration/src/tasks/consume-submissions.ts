import type { Log } from '@parley/shared/log'
import { connectBroker } from '@parley/shared/messaging/connection'
import { consumeBatches } from '@parley/shared/messaging/consumer'
import type { DeadLetter } from '@parley/shared/messaging/deliveries'
import { createPublisher } from '@parley/shared/messaging/publisher'
import { declareTasks, TASKS_QUEUE } from '@parley/shared/messaging/topology'
import { parseJson } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { TASK_SUBMISSION_TYPE, type TaskSubmission, taskSubmission } from '@parley/shared/task-submission'
import { isUnavailable } from '@parley/shared/unavailable'
import type { ConsumeMessage } from 'amqplib'
import type { Dependencies } from '../documents/dependencies.ts'
import { applySubmission } from './apply-submission.ts'

const THREADS_AT_ONCE = 16
const MAX_FAILURES = 20

interface Submissions {
  /** Lets the batch under way end; what is not acknowledged goes to another instance. */
  close(): Promise<void>
}

/** Consumes queue `tasks`, 100 at a time; one instance of the service gets what arrives. Connects in the background. */
export async function consumeSubmissions(options: {
  url: string
  dependencies: Dependencies
  log: Log
}): Promise<Submissions> {
  const { url, dependencies, log } = options
  const broker = await connectBroker({ url, declare: declareTasks, log })
  const deadLetters = createPublisher({ broker, log })
  const consumer = consumeBatches({
    queue: TASKS_QUEUE,
    work: workSubmissions(dependencies, log),
    deadLetters,
    declare: broker.declare,
    log,
  })
  broker.follow(consumer)
  return {
    close: async () => {
      await consumer.close()
      await deadLetters.close()
      await broker.close()
    },
  }
}

/**
 * Makes the worker of a batch: each thread's submissions one after another, threads side by side. Returns what can't
 * be read or recorded. Rejects while the database is unavailable; then the batch comes again.
 */
function workSubmissions(
  dependencies: Dependencies,
  log: Log,
): (batch: ConsumeMessage[]) => Promise<DeadLetter[]> {
  const failures = new WeakMap<ConsumeMessage, number>()
  /** Why it can't be applied; undefined when it was. Throws what may pass. */
  const work = async (delivery: ConsumeMessage, submission: TaskSubmission): Promise<string | undefined> => {
    const { workspace, messageId } = submission
    try {
      log.info(
        { workspace, messageId, outcome: await applySubmission(dependencies, submission) },
        'submission',
      )
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
  return async (batch) => {
    const dead: DeadLetter[] = []
    const threads = new Map<string, { delivery: ConsumeMessage; submission: TaskSubmission }[]>()
    for (const delivery of batch) {
      const reading = readSubmission(delivery)
      if (reading.kind === 'rejected') dead.push({ delivery, reason: reading.reason })
      else {
        const { submission } = reading
        const name = `${submission.workspace}/${submission.thread}`
        threads.set(name, [...(threads.get(name) ?? []), { delivery, submission }])
      }
    }
    await sideBySide([...threads.values()], async (thread) => {
      for (const { delivery, submission } of thread) {
        const reason = await work(delivery, submission)
        if (reason !== undefined) dead.push({ delivery, reason })
      }
    })
    return dead
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

type SubmissionReading =
  | { kind: 'submission'; submission: TaskSubmission }
  | { kind: 'rejected'; reason: string }

/** Reads a delivery of queue `tasks`. */
export function readSubmission({
  content,
  properties,
}: Pick<ConsumeMessage, 'content' | 'properties'>): SubmissionReading {
  if (properties.type !== TASK_SUBMISSION_TYPE) {
    return { kind: 'rejected', reason: `unknown message type ${JSON.stringify(properties.type)}` }
  }
  const parsed = taskSubmission.safeParse(jsonIn(content))
  if (!parsed.success) {
    return { kind: 'rejected', reason: `body field /${parsed.error.issues[0]?.path.join('/')} is wrong` }
  }
  return { kind: 'submission', submission: parsed.data }
}

function jsonIn(content: Buffer): unknown {
  try {
    return parseJson(content.toString())
  } catch {
    return undefined
  }
}
