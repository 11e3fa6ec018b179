import type { Authorizer } from '@parley/shared/authorizer'
import type { InternalClient } from '@parley/shared/internal-client'
import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { AGENT_KINDS } from '../../agents/kinds/kinds.ts'
import { assistantChannel } from '../../agents/turns/agents.ts'
import type { Channel, Channels } from '../../channels/channels.ts'
import type { IsFirstOfName } from '../../conversations/first-of-name.ts'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { visibleTo } from '../messages/filter.ts'
import { readableTask, requireDocument } from './require-assistant.ts'

const QUERY_MS = 5_000

/** The dependencies of reading a subject. */
export interface SubjectSources {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  collections: Pick<Collections, 'messages'>
  channels: Pick<Channels, 'find'>
  isFirstOfName: IsFirstOfName
}

/** The subject of a question to an assistant: a message, a thread by its latest one, a task, or nothing. */
interface Subject {
  /** Undefined where no message is asked about. */
  record: MessageRecord | undefined
  message: WebhookMessage
  /** The message's where this assistant answers on it, else one that is not configured. */
  channel: Channel
  /** As configuration has it; null for none. */
  task: JsonObject | null
  /** The messages that the caller may read; undefined for all of the workspace. */
  visible: mongo.Filter<MessageRecord> | undefined
}

/**
 * Reads it, as far as the caller may: messages take read on messages and tasks. Throws `forbidden`, `not_found` and
 * `unavailable`.
 */
export async function readSubject(
  needed: SubjectSources,
  res: { locals: Record<string, unknown> },
  asked: {
    assistantId: number
    message?: string | undefined
    thread?: string | undefined
    task?: number | undefined
  },
): Promise<Subject> {
  const caller = callerOf(res as Parameters<typeof callerOf>[0])
  const { assistantId, message: messageId, thread: extId, task: taskId } = asked
  const isOfMessage = messageId !== undefined || extId !== undefined
  const visible = isOfMessage ? await visibleTo(res, { ...needed, access: 'read' }) : undefined
  const which = messageId === undefined ? { thread: extId } : { _id: messageId }
  const record =
    visible && (await latestOf(needed.collections.messages, { $and: [visible, which as JsonObject] }))
  if (isOfMessage) await needed.authorizer.require(caller, 'tasks', 'read')
  const message = record && (jsonOrUndefined(record.body) as WebhookMessage | undefined)
  const task =
    taskId === undefined
      ? record === undefined
        ? null
        : await readableTask(needed, { caller, channel: message?.extId, thread: record.thread })
      : await requireDocument(needed, { caller, resource: 'tasks', id: taskId, access: 'read' })
  const decision = isOfMessage ? await needed.authorizer.decide(caller, 'messages', 'read') : undefined
  return {
    record,
    message: message ?? { extId: '', user: {}, thread: {}, answer: {} },
    channel: await channelOf(needed, { workspace: caller.workspace._id, assistantId, name: message?.extId }),
    task,
    visible: decision?.kind === 'all' ? undefined : visible,
  }
}

async function latestOf(
  messages: Collections['messages'],
  filter: mongo.Filter<MessageRecord>,
): Promise<MessageRecord> {
  const found = messages.find(filter, { maxTimeMS: QUERY_MS }).sort({ receivedAt: -1, _id: -1 })
  const [record] = await found.limit(1).toArray()
  if (record === undefined || jsonOrUndefined(record.body) === undefined)
    throw new Problem('not_found', { detail: 'There is no such message.' })
  return record
}

async function channelOf(
  { channels }: Pick<SubjectSources, 'channels'>,
  { workspace, assistantId, name }: { workspace: number; assistantId: number; name: string | undefined },
): Promise<Channel> {
  const found = name === undefined ? undefined : await channels.find(workspace, name)
  return found?.config.assistantId === assistantId
    ? found
    : assistantChannel({ workspace, assistantId, kind: AGENT_KINDS.taskManager })
}
