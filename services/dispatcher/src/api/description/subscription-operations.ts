import { EVENT_TYPES } from '@parley/shared/event-types'
import { safeInteger } from '@parley/shared/json-object'
import {
  type DescribedOperation,
  type OperationParameter,
  queryParameters,
} from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { DELIVERY_STATES } from '../../message/delivery.ts'
import { deliveryQuery, deliveryReplay } from '../subscriptions/delivery-routes.ts'

const tag = 'subscriptions'
const AT = '2026-11-20T11:36:37.316Z'
const ID = 'evt_W1S7Yl2w0C8nJmTq5b3Zk9dA'
const time = z.iso.datetime()

const idParameter: OperationParameter = {
  in: 'path',
  name: 'id',
  required: true,
  schema: safeInteger.nonnegative(),
  example: 1,
  description: 'The `_id` of the subscription',
}

const deliveryParameter: OperationParameter = {
  in: 'path',
  name: 'delivery',
  required: true,
  schema: z.string(),
  example: ID,
  description: 'The `_id` of the delivery, which is the `webhook-id` of its event',
}

const shape = {
  _id: z.string().describe("The event's `webhook-id`, the same on every attempt"),
  event: z.string().describe(`One of ${EVENT_TYPES.slice(0, 3).join(', ')}, …`),
  record: z.string().describe('What it is about, as `messages/{id}` or `assistant/12`'),
  state: z.enum(DELIVERY_STATES),
  attempts: z
    .array(
      z.object({
        at: time,
        ms: z.number().describe('How long it took'),
        outcome: z.enum(['accepted', 'failed']),
        code: z.string().optional().describe('`http_500`, `no_answer`, `not_reached`, `target_refused`'),
      }),
    )
    .describe('The latest 20'),
  due: time.optional().describe('When it is tried again'),
  reason: z.string().optional().describe('Why it was given up'),
  createdAt: time,
}
const delivery = z.object(shape).meta({ id: 'Delivery', description: 'One event for one subscription' })
const deliveryDetail = z
  .object({
    ...shape,
    payload: z
      .looseObject({})
      .optional()
      .describe('The body; there for those who may read all of what the event is about'),
  })
  .meta({ id: 'DeliveryDetail', description: 'One event for one subscription, with what it says' })

const example = {
  _id: ID,
  event: 'message.sent',
  record: 'messages/48341280-0a59-806f-9695-a1f7fc5fde77',
  state: 'delivered' as const,
  attempts: [{ at: AT, ms: 12, outcome: 'accepted' as const }],
  createdAt: AT,
}

/** What was sent to a subscription, and sending it again. */
export const subscriptionOperations: readonly DescribedOperation[] = [
  {
    method: 'GET',
    path: '/rest/subscriptions/{id}/deliveries',
    id: 'listDeliveries',
    tag,
    summary: 'List what was sent to a subscription',
    description: 'Newest first.',
    parameters: [
      idParameter,
      ...queryParameters(deliveryQuery, {
        state: 'Only those',
        event: 'Only those of this event',
        limit: 'How many at a time',
        after: 'The `next` of the page before',
      }),
    ],
    response: {
      schema: z.object({ data: z.array(delivery), next: z.string().nullable() }).meta({ id: 'DeliveryPage' }),
      example: { data: [example], next: null },
    },
    errors: ['invalid_id', 'not_found', 'validation_failed'],
  },
  {
    method: 'GET',
    path: '/rest/subscriptions/{id}/deliveries/{delivery}',
    id: 'readDelivery',
    tag,
    summary: 'Read one delivery, with what it says',
    parameters: [idParameter, deliveryParameter],
    response: {
      schema: deliveryDetail,
      example: { ...example, payload: { type: 'message.sent', timestamp: AT, workspace: 1, data: {} } },
    },
    errors: ['invalid_id', 'not_found'],
  },
  {
    method: 'POST',
    path: '/rest/subscriptions/{id}/deliveries/{delivery}/replay',
    id: 'replayDelivery',
    tag,
    summary: 'Send an event again',
    description: 'At once, under the same `webhook-id`, whatever became of it.',
    parameters: [idParameter, deliveryParameter],
    response: {
      schema: z.object({ _id: z.string(), replayed: z.literal(true) }).meta({ id: 'ReplayedDelivery' }),
      example: { _id: ID, replayed: true },
    },
    errors: ['invalid_id', 'not_found', 'subscription_inactive'],
  },
  {
    method: 'POST',
    path: '/rest/subscriptions/{id}/replay',
    id: 'replayDeliveries',
    tag,
    summary: 'Send again what was made since a time',
    description:
      'What was delivered or given up, oldest first, at most 10,000 at a time; where there is more, `next` is the `since` of the next call.',
    parameters: [idParameter],
    body: { schema: deliveryReplay.meta({ id: 'DeliveryReplayBody' }), example: { since: AT } },
    response: {
      schema: z
        .object({ replayed: z.number().int(), next: time.nullable() })
        .meta({ id: 'ReplayedDeliveries' }),
      example: { replayed: 12, next: null },
    },
    errors: ['invalid_id', 'not_found', 'subscription_inactive', 'validation_failed'],
  },
  {
    method: 'POST',
    path: '/rest/subscriptions/{id}/test',
    id: 'testSubscription',
    tag,
    summary: 'Send a test event',
    description: 'Of type `subscription.test`, whatever events the subscription names.',
    parameters: [idParameter],
    response: {
      schema: z
        .object({ _id: z.string(), event: z.literal('subscription.test'), state: z.literal('pending') })
        .meta({ id: 'TestDelivery' }),
      example: { _id: ID, event: 'subscription.test' as const, state: 'pending' as const },
    },
    errors: ['invalid_id', 'not_found', 'subscription_inactive'],
  },
]
