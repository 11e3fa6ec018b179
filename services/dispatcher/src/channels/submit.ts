import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { SUBMISSIONS_EXCHANGE, TASKS_QUEUE } from '@parley/shared/messaging/topology'
import { TASK_SUBMISSION_TYPE, type TaskSubmission } from '@parley/shared/task-submission'
import { currentTrace } from '@parley/shared/tracing'
import type { IsFirstOfName } from '../conversations/first-of-name.ts'
import type { MessageRecord } from '../message/message-record.ts'
import type { Channel } from './channels.ts'

/**
 * Hands what an answer submits to whoever advances the thread's task. Resolves once the broker has confirmed;
 * rejects with `unavailable`. What is handed over twice counts once, by the message's id.
 */
export type Submit = (options: {
  record: Pick<MessageRecord, '_id' | 'workspace' | 'channel' | 'thread'>
  channel: Channel
  submit: JsonObject
}) => Promise<void>

export function createSubmit(publisher: Pick<Publisher, 'publish'>, isFirstOfName: IsFirstOfName): Submit {
  return async ({ record, channel, submit }) => {
    const { assistantId } = channel.config
    const body: TaskSubmission = {
      workspace: record.workspace,
      messageId: record._id,
      channelId: channel._id,
      channel: record.channel,
      isFirst: await isFirstOfName(record),
      assistantId: typeof assistantId === 'number' ? assistantId : null,
      thread: record.thread,
      submit,
      at: new Date().toISOString(),
    }
    const traceparent = currentTrace()
    return publisher.publish({
      exchange: SUBMISSIONS_EXCHANGE,
      routingKey: TASKS_QUEUE,
      mandatory: true,
      messageId: record._id,
      type: TASK_SUBMISSION_TYPE,
      headers: { workspace: record.workspace, ...defined({ traceparent }) },
      body: Buffer.from(JSON.stringify(body)),
    })
  }
}
