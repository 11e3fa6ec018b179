import type { MessageRecord, Progress } from './message-record.ts'

/** The wide log line of a message that has reached an end. The thread may be a phone number, so it is not in it. */
export function messageLine(record: MessageRecord, progress: Progress, now: number): object {
  const { _id, workspace, channel, partition, receivedAt, requestId } = record
  const { state, reason, fault, sends, attempts } = progress
  return {
    ...{ messageId: _id, workspace, channel, partition, requestId, state, reason, fault },
    ...{ sends: sends.length, attempts: attempts.length, ms: now - receivedAt.getTime() },
  }
}
