import { parseJson } from '@parley/shared/parse-json'
import { TASK_SUBMISSION_TYPE, type TaskSubmission, taskSubmission } from '@parley/shared/task-submission'
import type { ConsumeMessage } from 'amqplib'

export type SubmissionReading =
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
