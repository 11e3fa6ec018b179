import { safeInteger } from '@parley/shared/json-object'
import {
  type DescribedOperation,
  type OperationParameter,
  queryParameters,
} from '@parley/shared/openapi/operation'
import { allProviders } from '@parley/shared/providers/registry'
import { z } from 'zod'
import { threadChange } from '../threads/change-thread.ts'
import { conversationQuery } from '../threads/conversation.ts'
import { channelQuery, threadQuery } from '../threads/list-threads.ts'
import { replyRequest } from '../threads/reply.ts'

const tag = 'threads'
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
const channelText = 'The external id of its channel, where several have a thread of that `extId`'
const parameters = [idParameter, ...queryParameters(channelQuery, { channel: channelText })]
const errors = ['not_found', 'several_channels', 'validation_failed'] as const

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
    state: z.string(),
    reason: z.string().optional(),
  })
  .meta({ id: 'ConversationEntry', description: 'Something that was said, by the person or to the person' })

const example = {
  _id: ID,
  extId: 'order-4711',
  channel: 'support-line',
  user: { name: 'Joana Prado', phone: '+55 11 98888-7777' },
  handler: 'person',
  lastMessage: 'Where is my order?',
  lastAt: AT,
  unread: 1,
  serviceWindowEndsAt: '2026-11-21T11:36:37.316Z',
} as const

/** Threads, and what people do with them. */
export const threadOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/threads',
    id: 'listThreads',
    tag,
    summary: 'List threads',
    description: 'The newest activity first; it is at most two seconds behind.',
    parameters: queryParameters(threadQuery, {
      channel: 'The external id of their channel',
      handler: 'Who has them',
      unread: 'Whether there is something to read in them',
      q: 'Words of the name, of the last one the beginning, or the beginning of the phone number; 10,000 threads with the rarest of the words are looked at, and 1,000 that have all of them sorted, at most',
      limit: 'How many at a time',
      after: 'The `next` of the page before',
    }),
    response: {
      schema: z.object({ data: z.array(thread), next: z.string().nullable() }).meta({ id: 'ThreadPage' }),
      example: { data: [example], next: null },
    },
    errors: ['validation_failed'],
  },
  {
    method: 'GET',
    path: '/rest/threads/{id}',
    id: 'readThread',
    tag,
    summary: 'Read a thread',
    parameters,
    response: { schema: threadWithTask, example: { ...example, task: null } },
    errors,
  },
  {
    method: 'PATCH',
    path: '/rest/threads/{id}',
    id: 'changeThread',
    tag,
    summary: 'Take a thread over, give it back, or mark it as read',
    description: 'Once a person has it, nothing of an assistant or a handler leaves any more.',
    parameters,
    body: {
      schema: threadChange.meta({ id: 'ThreadChange' }),
      example: { handler: 'person', unread: 0 },
      types: ['application/json', 'application/merge-patch+json'],
    },
    response: { schema: threadWithTask, example: { ...example, task: null } },
    errors,
  },
  {
    method: 'DELETE',
    path: '/rest/threads/{id}',
    id: 'eraseThread',
    tag,
    summary: 'Erase a thread',
    description:
      'What a person said and was told, and the context of the tasks of the thread on its channel, for good. Tasks that the caller may not write are left out and counted. The log of the broker has it for 7 days more.',
    parameters,
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
  },
  {
    method: 'GET',
    path: '/rest/threads/{id}/messages',
    id: 'readConversation',
    tag,
    summary: 'Read the conversation of a thread',
    description: 'As people read it, oldest first: its end, or what comes before or after a cursor.',
    parameters: [
      idParameter,
      ...queryParameters(conversationQuery, {
        channel: channelText,
        limit: 'Of how many messages at a time',
        before: 'The `previous` of a page: what is older',
        after: 'The `next` of a page: what is newer, also what has come since',
      }),
    ],
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
  },
  {
    method: 'POST',
    path: '/rest/threads/{id}/messages',
    id: 'replyInThread',
    tag,
    summary: 'Reply in a thread',
    description: 'It is sent in the order of the thread, whoever has it.',
    parameters: [
      ...parameters,
      {
        in: 'header',
        name: 'Idempotency-Key',
        schema: z.string().min(1).max(255),
        description: 'The same key and body are the same reply; another body under the key is refused',
      },
    ],
    body: {
      schema: replyRequest().meta({ id: 'Reply' }),
      example: { text: 'It is on its way.' },
    },
    response: { schema: z.object({ _id: z.string().describe('Of the message') }), example: { _id: MESSAGE } },
    errors: [...errors, 'idempotency_key_reused', 'idempotency_in_flight'],
  },
]
