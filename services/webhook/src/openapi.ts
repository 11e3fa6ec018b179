import { safeInteger } from '@parley/shared/json-object'
import { postedMessage } from '@parley/shared/message'
import {
  type DescribedOperation,
  type OperationParameter,
  queryParameters,
} from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { hookQuery } from './hooks/routes.ts'

const tag = 'webhooks'
const time = z.iso.datetime().nullable()

export const message = postedMessage.meta({
  id: 'WebhookMessage',
  description: 'A message; what is not described here is stored and repeated',
})
export const messageExample = {
  extId: 'support-line',
  user: { name: 'João', phone: '+5511988887777' },
  thread: { extId: 'order-4711' },
  answer: {
    message: 'On its way.',
    functions: [
      {
        name: 'callback',
        args: { template: 'order_update', variables: ['João', '4711'], language: 'pt_BR' },
      },
    ],
  },
}

const metaPayload = z
  .looseObject({
    object: z.string().optional(),
    entry: z
      .array(z.looseObject({ changes: z.array(z.looseObject({ value: z.unknown() })).optional() }))
      .optional(),
  })
  .meta({ id: 'MetaPayload', description: 'What Meta sends: messages and statuses, up to 1,000' })

const hook = z
  .object({
    channel: z.object({ _id: safeInteger, name: z.string(), extId: z.string(), hook: z.string() }),
    url: z.string().nullable().describe('Where the provider is to send; null where the extId has no address'),
    setup: z
      .array(
        z.object({
          where: z.string(),
          paste: z.string().optional(),
          subscribe: z.array(z.string()).optional(),
        }),
      )
      .describe('What to put where at the provider'),
    problems: z.array(z.string()).describe('What is missing'),
    handshake: z.object({ succeeded: z.boolean(), at: time }),
    lastReceivedAt: time,
    lastError: z.object({ at: z.iso.datetime(), code: z.string(), message: z.string() }).nullable(),
    signingSecret: z
      .object({ source: z.enum(['channel', 'derived']), value: z.string().optional() })
      .nullish()
      .describe('What callbacks are signed with, for those who may write the channel'),
  })
  .meta({ id: 'Hook', description: 'The webhook of one channel, and how it goes' })
const hookExample = {
  channel: { _id: 1, name: 'Support', extId: 'support-line', hook: 'whatsapp' },
  url: 'https://parley.example.com/api/hooks/whatsapp/acme/support-line',
  setup: [],
  problems: [],
  handshake: { succeeded: true, at: '2026-11-20T11:36:37.235Z' },
  lastReceivedAt: null,
  lastError: null,
}

const path = '/api/hooks/whatsapp/{slug}/{channelExtId}'
const address: OperationParameter[] = [
  {
    in: 'path',
    name: 'slug',
    description: 'The first label of the workspace’s host',
    required: true,
    schema: z.string(),
    example: 'acme',
  },
  {
    in: 'path',
    name: 'channelExtId',
    description: 'The external id of the channel',
    required: true,
    schema: z.string(),
    example: 'support-line',
  },
]
const hub = (name: string, description: string, example: string): OperationParameter => ({
  in: 'query',
  name: `hub.${name}`,
  description,
  schema: z.string(),
  required: true,
  example,
})

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [
  {
    method: 'POST',
    path: '/api/hooks/whatsapp',
    id: 'postMessage',
    tag,
    summary: 'Post a message',
    description:
      '200 once the broker has confirmed it. Up to 1 MiB, with `audio` of up to 16 MiB in addition. Two equal posts are two messages, unless they carry the same `Idempotency-Key`.',
    parameters: [
      {
        in: 'header',
        name: 'Idempotency-Key',
        description: 'Makes repeats one message, for 7 days',
        schema: z.string().regex(/^[\x21-\x7e]{1,255}$/),
        example: 'order-4711',
      },
    ],
    body: { schema: message, example: messageExample },
    response: {
      schema: message,
      example: messageExample,
      description: 'The message, repeated',
      headers: [
        { name: 'X-Message-Id', description: 'Names the message in the log' },
        {
          name: 'Parley-Warning',
          description:
            '`unknown-channel` where the workspace has no channel with this `extId`: the message is logged, and `unrouted` unless there is one within 10 seconds',
        },
        { name: 'Idempotent-Replayed', description: '`true` where the key was confirmed before' },
      ],
    },
    errors: ['idempotency_in_flight', 'idempotency_key_reused'],
  },
  {
    method: 'GET',
    path,
    id: 'verifyWebhook',
    tag,
    summary: 'Meta’s handshake',
    parameters: [
      ...address,
      hub('mode', '`subscribe`', 'subscribe'),
      hub('verify_token', 'The channel’s `config.verifyToken`', 'a-token-of-ones-own'),
      hub('challenge', 'What is to be repeated', '1158201444'),
    ],
    response: {
      schema: z.string(),
      example: '1158201444',
      types: ['text/plain'],
      description: 'The challenge, repeated',
    },
    errors: ['not_found', 'forbidden'],
  },
  {
    method: 'POST',
    path,
    id: 'receiveFromMeta',
    tag,
    summary: 'Meta’s webhook',
    description:
      'Each message and status becomes one message. Up to 3 MB. `skipped` counts those that can’t be read, or whose ids have more than 1,024 characters; `GET /rest/hooks` then shows `updates_skipped`. `foreign` counts messages to another number than the channel’s `config.phoneNumberId` (`metadata.phone_number_id`): they are left out, and `GET /rest/hooks` shows `foreign_number`.',
    parameters: [
      ...address,
      {
        in: 'header',
        name: 'X-Hub-Signature-256',
        required: true,
        schema: z.string(),
        description: '`sha256=` and the HMAC of the body with the channel’s `config.appSecret`, in hex',
        example: `sha256=${'0'.repeat(64)}`,
      },
    ],
    body: {
      schema: metaPayload,
      example: {
        object: 'whatsapp_business_account',
        entry: [
          {
            id: '1',
            changes: [
              {
                field: 'messages',
                value: {
                  messaging_product: 'whatsapp',
                  metadata: { display_phone_number: '15550001111', phone_number_id: '1001' },
                  contacts: [{ profile: { name: 'João' }, wa_id: '5511988887777' }],
                  messages: [
                    {
                      from: '5511988887777',
                      id: 'wamid.HBgN',
                      timestamp: '1763638597',
                      type: 'text',
                      text: { body: 'Where is my order?' },
                    },
                  ],
                },
              },
            ],
          },
        ],
      },
    },
    response: {
      schema: z
        .object({
          accepted: z.number().int(),
          repeated: z.number().int(),
          skipped: z.number().int(),
          foreign: z.number().int(),
        })
        .meta({ id: 'MetaReceipt' }),
      example: { accepted: 1, repeated: 0, skipped: 0, foreign: 0 },
    },
    errors: ['not_found', 'forbidden'],
  },
  {
    ...{
      method: 'GET',
      path: '/rest/hooks',
      id: 'listHooks',
      tag,
      summary: 'List webhooks, and how they go',
    },
    parameters: queryParameters(hookQuery, {
      limit: 'How many channels at a time',
      after: 'The `next` of the page before',
    }),
    response: {
      schema: z.object({ data: z.array(hook), next: z.string().nullable() }).meta({ id: 'HookPage' }),
      example: { data: [hookExample], next: null },
      headers: [{ name: 'Cache-Control', description: '`no-store`' }],
    },
    errors: ['validation_failed'],
  },
  {
    method: 'GET',
    path: '/asyncapi.json',
    id: 'readAsyncApi',
    tag: 'operation',
    summary: 'What is published to the message broker',
    response: {
      schema: z.looseObject({ asyncapi: z.string() }).meta({ id: 'AsyncApi' }),
      example: { asyncapi: '3.0.0' },
    },
  },
]
