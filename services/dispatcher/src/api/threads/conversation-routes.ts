import type { Idempotency } from '@parley/shared/idempotency'
import { safeInteger } from '@parley/shared/json-object'
import type { Publisher } from '@parley/shared/messaging/publisher'
import { route } from '@parley/shared/openapi/route'
import { allProviders } from '@parley/shared/providers/registry'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { z } from 'zod'
import type { Channels } from '../../channels/channels.ts'
import { createReadQuoted } from '../../conversations/quoted-messages.ts'
import { conversationQuery, readConversation } from './conversation.ts'
import { requireThread, type ThreadStore } from './find-thread.ts'
import { channelQuery } from './list-threads.ts'
import { publishReply, type Reply, replyRequest } from './reply.ts'
import { threadErrors, threadParameter } from './thread-schemas.ts'

const tag = 'threads'
const path = '/rest/threads/{id}/messages'
const MAX_BODY_BYTES = 512 * 1024
const AT = '2026-11-20T11:36:37.316Z'
const MESSAGE = '48341280-0a59-806f-9695-a1f7fc5fde77'

/** Schemas of objects in a provider's own form, by the provider's name. */
const objects = Object.fromEntries(
  allProviders().flatMap(({ name, description: { label }, outbound }) =>
    outbound.objects === undefined
      ? []
      : [[name, z.looseObject({}).optional().describe(`A message object of ${label}`)]],
  ),
)

const entry = z
  .object({
    _id: z.string().describe('Of the message, or of what was sent in it'),
    message: z.string().describe('The message that it is part of'),
    at: z.iso.datetime(),
    from: z
      .enum(['person', 'assistant', 'team', 'api', 'provider'])
      .describe('`team` is a person who replied, `provider` tells what nobody said'),
    through: z.literal('app').optional().describe('It was written in the app of the provider'),
    name: z.string().optional().describe('Who wrote it, in the thread of a group'),
    by: z.looseObject({ _id: safeInteger, name: z.string() }).optional().describe('Who replied'),
    text: z.string().optional(),
    transcript: z.string().optional().describe('What is said in its audio'),
    media: z.string().optional().describe('What it is beside or in the place of text'),
    reaction: z
      .string()
      .optional()
      .describe('The emoji of what reacts to what is quoted; empty where it takes a reaction back'),
    quoted: z
      .object({
        _id: z.string(),
        messageId: z.string(),
        from: z.enum(['person', 'business']),
        text: z.string(),
      })
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

/** The dependencies of the routes of conversations. */
export interface Conversations extends ThreadStore {
  channels: Pick<Channels, 'find'>
  publisher: Pick<Publisher, 'publish'>
  idempotency: Idempotency
}

export const readThreadMessages = route({
  method: 'GET',
  path,
  access: 'read',
  id: 'readConversation',
  tag,
  summary: 'Read the conversation of a thread',
  description: 'As people read it, oldest first: its end, or what comes before or after a cursor.',
  parameters: [threadParameter],
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
  errors: threadErrors,
  handle: (conversations: Conversations) => {
    const { messages } = conversations.collections
    const readQuoted = createReadQuoted(conversations.collections)
    return async (req, res, asked) => {
      const given = asked.query()
      const { channel } = given
      const thread = await requireThread(conversations, res, { id: req.params.id, channel, access: 'read' })
      res.json(await readConversation({ messages, readQuoted }, thread, given))
    }
  },
})

export const replyInThread = route({
  method: 'POST',
  path,
  access: 'write',
  id: 'replyInThread',
  tag,
  summary: 'Reply in a thread',
  description: 'It is sent in the order of the thread, whoever has it.',
  parameters: [
    threadParameter,
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
  errors: [...threadErrors, 'idempotency_key_reused', 'idempotency_in_flight'],
  handle: (conversations: Conversations) => {
    // Of all providers that there are by now.
    const form = replyRequest()
    return async (req, res, asked) => {
      const { channel } = asked.query()
      const thread = await requireThread(conversations, res, { id: req.params.id, channel, access: 'write' })
      const reply = parse(form, req.body) as Reply
      const { _id, replayed } = await publishReply(conversations, {
        req,
        caller: callerOf(res),
        thread,
        reply,
      })
      if (replayed) res.set('idempotent-replayed', 'true')
      res.json({ _id })
    }
  },
})
