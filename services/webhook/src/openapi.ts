import { safeInteger } from '@parley/shared/json-object'
import { MESSAGE_PATHS, postedMessage } from '@parley/shared/message'
import {
  type DescribedOperation,
  type OperationParameter,
  queryParameters,
} from '@parley/shared/openapi/operation'
import type { Provider } from '@parley/shared/providers/provider'
import { allProviders, usualProvider } from '@parley/shared/providers/registry'
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
  channel: { _id: 1, name: 'Support', extId: 'support-line', hook: usualProvider().name },
  url: `https://parley.example.com/api/hooks/${usualProvider().name}/acme/support-line`,
  setup: [],
  problems: [],
  handshake: { succeeded: true, at: '2026-11-20T11:36:37.235Z' },
  lastReceivedAt: null,
  lastError: null,
}

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
/** The operations of a provider's webhook; none where nothing comes from it. */
function providerOperations({ name, inbound }: Provider): DescribedOperation[] {
  if (inbound === undefined) return []
  const { documentation } = inbound
  const path = `/api/hooks/${name}/{slug}/{channelExtId}`
  const { handshake, receive } = documentation
  const payload = z.looseObject({}).meta({ id: `${documentation.name}Payload`, ...receive.payload })
  const receiving: DescribedOperation = {
    method: 'POST',
    path,
    id: `receiveFrom${documentation.name}`,
    tag,
    summary: receive.summary,
    description: receive.description,
    parameters: [...address, { in: 'header', required: true, schema: z.string(), ...receive.header }],
    body: { schema: payload, example: receive.example },
    response: {
      schema: receipt.meta({ id: `${documentation.name}Receipt` }),
      example: { accepted: 1, repeated: 0, kept: 0, skipped: 0, foreign: 0 },
    },
    errors: ['not_found', 'forbidden'],
  }
  if (handshake === undefined) return [receiving]
  const verifying: DescribedOperation = {
    method: 'GET',
    path,
    id: handshake.id,
    tag,
    summary: handshake.summary,
    parameters: [
      ...address,
      ...handshake.query.map(
        (one): OperationParameter => ({ in: 'query', schema: z.string(), required: true, ...one }),
      ),
    ],
    response: {
      schema: z.string(),
      example: handshake.example,
      types: ['text/plain'],
      description: handshake.response,
    },
    errors: ['not_found', 'forbidden'],
  }
  return [verifying, receiving]
}

const count = z.number().int()
/** Together they are all that the payload had. */
const receipt = z.object({
  accepted: count.describe('New messages and statuses'),
  repeated: count.describe('What had come before'),
  kept: count.describe('New notices of the channel'),
  skipped: count.describe('What can’t be read, and what nothing is done with'),
  foreign: count.describe('What is for no channel of the workspace'),
})

/** Every public operation of this service. */
export const operations: readonly DescribedOperation[] = [
  {
    method: 'POST',
    path: MESSAGE_PATHS[0],
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
  ...allProviders().flatMap(providerOperations),
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
