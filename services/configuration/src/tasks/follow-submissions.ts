import { declareTasks, TASKS_QUEUE } from '@parley/shared/broker'
import { followBroker } from '@parley/shared/follow-broker'
import { keepConsuming } from '@parley/shared/keep-consuming'
import type { Log } from '@parley/shared/log'
import type { Dependencies } from '../documents/dependencies.ts'
import { applySubmission } from './apply-submission.ts'
import { workSubmissions } from './work-submissions.ts'

export interface Submissions {
  /** Waits for the current batch to end; what is not acknowledged goes to another instance. */
  close(): Promise<void>
}

/** Consumes queue `tasks`, 100 at a time; one instance of the service at a time gets them. Connects in the background. */
export async function followSubmissions(options: {
  url: string
  dependencies: Dependencies
  log: Log
}): Promise<Submissions> {
  const { url, dependencies, log } = options
  const broker = await followBroker({ url, declare: declareTasks, log })
  const consumer = keepConsuming({
    queue: TASKS_QUEUE,
    held: () => true,
    work: workSubmissions({ apply: (submission) => applySubmission(dependencies, submission), log }),
    log,
  })
  broker.follow(consumer)
  return {
    close: async () => {
      await consumer.close()
      await broker.close()
    },
  }
}
