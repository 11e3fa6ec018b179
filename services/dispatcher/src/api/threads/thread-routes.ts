import type { Idempotency } from '@parley/shared/idempotency'
import type { InternalClient } from '@parley/shared/internal-client'
import { safeInteger } from '@parley/shared/json-object'
import { encodeCursor, splitPage } from '@parley/shared/list-query'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { type OperationParameter, pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { allProviders } from '@parley/shared/providers/registry'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import { publicId } from '../../message/thread-record.ts'
import type { IsFirstOfName } from '../../thread-log/first-of-name.ts'
import { createReadQuoted } from '../../thread-log/quoted-messages.ts'
import { changeThread, threadChange } from './change-thread.ts'
import { conversationQuery, readConversation } from './conversation.ts'
import { type Erasing, eraseThread } from './erase-thread.ts'
import { erasableTasks } from './erasers.ts'
import { requireThread, type ThreadStore, visibleThreads } from './find-thread.ts'
import { channelQuery, findThreads, threadQuery } from './list-threads.ts'
import { publishReply, type Reply, replyRequest } from './reply.ts'
import { readThread, threadViews } from './view.ts'

const tag = 'threads'
const MAX_BODY_BYTES = 512 * 1024
const AT = '2026-11-20T11:36:37.316Z'
const ID = 'WyJzdXBwb3J0LWxpbmUiLCJvcmRlci00NzExIl0'
const MESSAGE = '48341280-0a59-806f-9695-a1f7fc5fde77'
const time = z.iso.datetime()

const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: z.string(),
  example: 'order-4711',
  description: 'The `extId` of the thread, or its `_id`',
}

/** What was sent in a provider's own form, by the provider's name. */
const objects = Object.fromEntries(
  allProviders().flatMap(({ name, description: { label }, outbound }) =>
    outbound.objects === undefined
      ? []
      : [[name, z.looseObject({}).optional().describe(`A message object of ${label}`)]],
  ),
)

const thread = z
  .object({
    _id: z.string().describe('Opaque, and accepted wherever the `extId` is'),
    extId: z.string(),
    channel: z.string().describe('The external id of its channel'),
    user: z.looseObject({
      name: z.string().optional(),
      phone: z.string().optional(),
      email: z.string().optional(),
      username: z.string().optional().describe('What the person calls themselves at the provider'),
    }),
    addresses: z
      .array(z.string())
      .optional()
      .describe('What the person is written to or known by, such as `phone:4930901820`'),
    joined: z
      .array(z.string())
      .optional()
      .describe('Names of threads that turned out to be the same person’s: they go on here, and lead here'),
    handler: z.enum(['assistant', 'person']).describe('Who has it'),
    handlerUntil: time
      .optional()
      .describe(
        'Until when a person has it, where that ends by itself, as after what the business wrote in its app',
      ),
    status: z
      .enum(['open', 'resolved', 'snoozed'])
      .describe(
        'Whether the team is done with it, or has put it off: either way until the person writes again',
      ),
    snoozedUntil: time.optional().describe('When it is open again by itself'),
    assignee: z
      .object({
        _id: safeInteger,
        name: z.string(),
        at: time.describe('Since when'),
        by: safeInteger.describe('Which user assigned it'),
      })
      .optional()
      .describe('Whose work it is, of the users'),
    labels: z.array(z.string()).optional().describe('What the team sorts it by'),
    lastMessage: z.string().describe('The beginning of what was said last, by whomever'),
    lastAt: time,
    unread: z.number().int().describe('What a person is to read; 1,000 at most are counted'),
    unreadFor: z
      .object({
        why: z.enum(['unanswered', 'handed_off', 'handler_is_person']),
        reason: z.string().nullable().describe('Why there was no answer, or what the assistant said'),
        message: z.string().describe('The `_id` of the message'),
        at: z.iso.datetime().describe('When it was received'),
      })
      .optional()
      .describe('Why, while there is something to read'),
    serviceWindowEndsAt: time
      .nullable()
      .describe('Until when the provider takes free text, where that is known'),
  })
  .meta({ id: 'ThreadSummary', description: "A person's thread on a channel" })

const task = z.object({
  _id: safeInteger,
  name: z.string(),
  status: z.string(),
  workflow: safeInteger,
  currentStep: safeInteger,
})
const threadWithTask = z
  .object({
    ...thread.shape,
    task: task
      .nullable()
      .describe('The active task of the thread, where there is one that the caller may read'),
  })
  .meta({ id: 'Thread', description: "A person's thread on a channel, with its task" })

const entry = z
  .object({
    _id: z.string().describe('Of the message, or of what was sent in it'),
    message: z.string().describe('The message that it is part of'),
    at: time,
    from: z
      .enum(['person', 'assistant', 'team', 'api', 'provider'])
      .describe('`team` is a person who replied, `provider` tells what nobody said'),
    through: z.literal('app').optional().describe('It was written in the app of the provider'),
    name: z.string().optional().describe('Who wrote it, in the thread of a group'),
    by: z.looseObject({ _id: safeInteger, name: z.string() }).optional().describe('Who replied'),
    text: z.string().optional(),
    transcript: z.string().optional().describe('What is said in its audio'),
    media: z.string().optional().describe('What it is beside or in the place of text'),
    quoted: z
      .object({ messageId: z.string(), from: z.enum(['person', 'business']), text: z.string() })
      .optional()
      .describe('What it replies or reacts to; 500 characters at most'),
    edited: z.literal(true).optional().describe('Its writer has given it another text'),
    deleted: z.literal(true).optional().describe('Its writer has taken it back'),
    template: z.string().optional(),
    language: z.string().optional(),
    variables: z.array(z.string()).optional(),
    more: z.looseObject({}).optional().describe('What else a template was given'),
    ...objects,
    state: z.string().describe('Of a send: `failed` also where its message was given up'),
    reason: z.string().optional().describe('Why it ended so'),
  })
  .meta({ id: 'ConversationEntry', description: 'Something that was said, by the person or to the person' })

const example = {
  _id: ID,
  extId: 'order-4711',
  channel: 'support-line',
  user: { name: 'Joana Prado', phone: '+55 11 98888-7777' },
  handler: 'person',
  status: 'open',
  assignee: { _id: 2, name: 'Bruno Lima', at: AT, by: 1 },
  labels: ['delivery'],
  lastMessage: 'Where is my order?',
  lastAt: AT,
  unread: 1,
  serviceWindowEndsAt: '2026-11-21T11:36:37.316Z',
} as const

/** The dependencies of the routes of threads. */
export interface Threads extends ThreadStore, Erasing {
  identity: Pick<InternalClient, 'get'>
  channels: Pick<Channels, 'find'>
  configuration: Pick<InternalClient, 'get'>
  isFirstOfName: IsFirstOfName
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
}

const errors = ['not_found', 'several_channels'] as const

export const listThreads = route({
  method: 'GET',
  path: '/rest/threads',
  access: 'read',
  id: 'listThreads',
  tag,
  summary: 'List threads',
  description: 'The newest activity first; it is at most two seconds behind.',
  query: threadQuery,
  response: pageOf('Thread', thread, example),
  handle:
    ({ collections, authorizer, channels }: Threads) =>
    async (_req, res, asked) => {
      const allowed = await visibleThreads(res, authorizer)
      const given = asked.query()
      const found = await findThreads(collections.threads, allowed, given)
      const { page, last } = splitPage(found, given.limit)
      const next = last === undefined ? null : encodeCursor([last.lastAt.getTime(), last._id])
      res.json({ data: await threadViews(channels, page), next })
    },
})

export const readOneThread = route({
  method: 'GET',
  path: '/rest/threads/{id}',
  access: 'read',
  id: 'readThread',
  tag,
  summary: 'Read a thread',
  parameters: [idParameter],
  query: channelQuery,
  response: { schema: threadWithTask, example: { ...example, task: null } },
  errors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'read' })
    res.json(await readThread(threads, { thread, caller: callerOf(res) }))
  },
})

export const patchThread = route({
  method: 'PATCH',
  path: '/rest/threads/{id}',
  access: 'write',
  id: 'changeThread',
  tag,
  summary: 'Take a thread over, give it back, assign, label, resolve or snooze it',
  description:
    'Once a person has it, nothing of an assistant or a handler leaves any more. One that is resolved or snoozed is open again when the person writes.',
  parameters: [idParameter],
  query: channelQuery,
  body: {
    schema: threadChange.meta({ id: 'ThreadChange' }),
    example: { handler: 'person', unread: 0 },
    types: ['application/json', 'application/merge-patch+json'],
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: threadWithTask, example: { ...example, task: null } },
  errors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'write' })
    const caller = callerOf(res)
    const changed = await changeThread(threads, { thread, change: asked.body(), caller })
    res.json(await readThread(threads, { thread: changed, caller }))
  },
})

export const deleteThread = route({
  method: 'DELETE',
  path: '/rest/threads/{id}',
  access: 'write',
  id: 'eraseThread',
  tag,
  summary: 'Erase a thread',
  description:
    'What a person said and was told, and the context of the tasks of the thread on its channel, for good. Tasks that the caller may not write are left out and counted. The log of the broker has it for 7 days more.',
  parameters: [idParameter],
  query: channelQuery,
  response: {
    schema: z.object({
      _id: z.string(),
      deleted: z.literal(true),
      tasksLeft: z
        .number()
        .int()
        .optional()
        .describe('How many tasks of the thread the caller may not write, and so were left as they are'),
    }),
    example: { _id: ID, deleted: true },
  },
  errors,
  handle: (threads: Threads) => async (req, res, asked) => {
    const { channel } = asked.query()
    const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'write' })
    const tasks = await erasableTasks(threads, { caller: callerOf(res), thread })
    await eraseThread(threads, thread, tasks)
    const { left: tasksLeft } = tasks
    res.json({ _id: publicId(thread), deleted: true, ...(tasksLeft > 0 && { tasksLeft }) })
  },
})

export const readThreadMessages = route({
  method: 'GET',
  path: '/rest/threads/{id}/messages',
  access: 'read',
  id: 'readConversation',
  tag,
  summary: 'Read the conversation of a thread',
  description: 'As people read it, oldest first: its end, or what comes before or after a cursor.',
  parameters: [idParameter],
  query: conversationQuery,
  response: {
    schema: z
      .object({
        data: z.array(entry),
        previous: z.string().nullable(),
        next: z.string().nullable(),
      })
      .meta({ id: 'Conversation' }),
    example: {
      data: [
        {
          _id: MESSAGE,
          message: MESSAGE,
          at: AT,
          from: 'person',
          text: 'Where is my order?',
          state: 'done',
        },
      ],
      previous: null,
      next: null,
    },
  },
  errors,
  handle: (threads: Threads) => {
    const { messages } = threads.collections
    const readQuoted = createReadQuoted(threads.collections)
    return async (req, res, asked) => {
      const given = asked.query()
      const { channel } = given
      const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'read' })
      res.json(await readConversation({ messages, readQuoted }, thread, given))
    }
  },
})

export const replyInThread = route({
  method: 'POST',
  path: '/rest/threads/{id}/messages',
  access: 'write',
  id: 'replyInThread',
  tag,
  summary: 'Reply in a thread',
  description: 'It is sent in the order of the thread, whoever has it.',
  parameters: [
    idParameter,
    {
      in: 'header',
      name: 'Idempotency-Key',
      schema: z.string().min(1).max(255),
      description: 'The same key and body are the same reply; another body under the key is refused',
    },
  ],
  query: channelQuery,
  body: {
    schema: replyRequest().meta({ id: 'Reply' }),
    example: { text: 'It is on its way.' },
    maxBytes: MAX_BODY_BYTES,
  },
  response: { schema: z.object({ _id: z.string().describe('Of the message') }), example: { _id: MESSAGE } },
  errors: [...errors, 'idempotency_key_reused', 'idempotency_in_flight'],
  handle: (threads: Threads) => {
    // Of all providers that there are by now.
    const form = replyRequest()
    return async (req, res, asked) => {
      const { channel } = asked.query()
      const thread = await requireThread(threads, res, { id: req.params.id, channel, access: 'write' })
      const reply = parse(form, req.body) as Reply
      const { _id, replayed } = await publishReply(threads, { req, caller: callerOf(res), thread, reply })
      if (replayed) res.set('idempotent-replayed', 'true')
      res.json({ _id })
    }
  },
})
