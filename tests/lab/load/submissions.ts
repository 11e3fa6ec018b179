import { setTimeout as sleep } from 'node:timers/promises'
import { declareTasks, TASKS_QUEUE } from '@parley/shared/messaging/topology'
import { TASK_SUBMISSION_TYPE, type TaskSubmission } from '@parley/shared/task-submission'
import { type ConfirmChannel, connect } from 'amqplib'

const AT_ONCE = 50
const AGAIN_MS = 200

/** Submissions of many threads in turn, those of one thread in order; every third comes twice. */
export function submissionsOf(options: {
  workspace: number
  threads: number
  steps: number
}): TaskSubmission[] {
  const { workspace, threads, steps } = options
  return Array.from({ length: steps }, (_, step) =>
    Array.from({ length: threads }, (_, thread) => {
      const submission = {
        workspace,
        channelId: 1,
        assistantId: 1,
        thread: `thread-${thread}`,
        messageId: `${thread}-${step}`,
        submit: { n: step + 1 },
        at: new Date().toISOString(),
      }
      return thread % 3 === 0 ? [submission, submission] : [submission]
    }),
  ).flat(2)
}

/** Publishes all, 50 at a time; what the broker did not confirm is sent again. `published` is told how many are. */
export async function publishAll(options: {
  url: string
  submissions: readonly TaskSubmission[]
  published(count: number): Promise<void>
}): Promise<void> {
  const { url, submissions, published } = options
  for (let at = 0; at < submissions.length; at += AT_ONCE) {
    const batch = submissions.slice(at, at + AT_ONCE)
    while (!(await confirmed(url, batch))) await sleep(AGAIN_MS)
    await published(at + batch.length)
  }
}

async function confirmed(url: string, batch: readonly TaskSubmission[]): Promise<boolean> {
  try {
    const connection = await connect(url, { timeout: 5_000 })
    // A connection that breaks off in the middle shows in the confirmation.
    connection.on('error', () => {})
    try {
      const channel = await connection.createConfirmChannel()
      channel.on('error', () => {})
      await declareTasks(channel)
      await send(channel, batch)
      return true
    } finally {
      await connection.close()
    }
  } catch {
    return false
  }
}

function send(channel: ConfirmChannel, batch: readonly TaskSubmission[]): Promise<void> {
  for (const submission of batch) {
    const { messageId } = submission
    const properties = { type: TASK_SUBMISSION_TYPE, messageId, persistent: true }
    channel.sendToQueue(TASKS_QUEUE, Buffer.from(JSON.stringify(submission)), properties)
  }
  return channel.waitForConfirms()
}
