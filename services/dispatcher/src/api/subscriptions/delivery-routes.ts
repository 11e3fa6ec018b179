import { randomUUID } from 'node:crypto'
import type { Authorizer } from '@parley/shared/authorizer'
import { EVENT_TYPES, SUBSCRIPTION_TEST } from '@parley/shared/event-types'
import type { InternalClient } from '@parley/shared/internal-client'
import { cursorOf, encodeCursor, pageLimit, splitPage } from '@parley/shared/list-query'
import { type OperationParameter, pageOf } from '@parley/shared/openapi/operation'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { parseJson } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { DELIVERY_STATES, type Delivery, deliveryId, shardOf } from '../../message/delivery.ts'
import { type InsertDeliveries, sequenceAt } from '../../outgoing/insert-deliveries.ts'
import { resourceOf } from '../../outgoing/readable.ts'
import { subscriptionKey } from '../../outgoing/subscriptions.ts'
import type { EventCollections } from '../../store/event-collections.ts'
import { requireDocument } from '../assistant/require-assistant.ts'

const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 5_000
const MAX_REPLAYED = 10_000

/** Which deliveries are to be made again. */
const deliveryReplay = z.strictObject({
  since: z.iso.datetime({ offset: true }).describe('Those made since then, to the microsecond'),
  state: z.enum(['delivered', 'failed']).optional().describe('Only those; both when left out'),
  limit: z.number().int().min(1).max(MAX_REPLAYED).default(MAX_REPLAYED),
})

const AT = '2026-11-20T11:36:37.316Z'
const ID = 'evt_W1S7Yl2w0C8nJmTq5b3Zk9dA'
const time = z.iso.datetime()

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

const subscriptionId = idParameter('The `_id` of the subscription')

export interface Subscribed {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  deliveries: EventCollections['deliveries']
  insert: InsertDeliveries
}

export const listDeliveries = route({
  method: 'GET',
  path: '/rest/subscriptions/{id}/deliveries',
  access: 'read',
  id: 'listDeliveries',
  tag: 'subscriptions',
  summary: 'List what was sent to a subscription',
  description: 'Newest first.',
  parameters: [subscriptionId],
  query: z.object({
    state: z.enum(DELIVERY_STATES).optional().describe('Only those'),
    event: z.string().max(128).optional().describe('Only those of this event'),
    limit: pageLimit,
    after: cursorOf(z.tuple([z.number().int().nonnegative()])).optional(),
  }),
  response: pageOf('Delivery', delivery, example),
  errors: ['invalid_id', 'not_found'],
  handle: (needed: Subscribed) => async (req, res, asked) => {
    const { key } = await subscribed(needed, req, res, 'read')
    const { state, event, limit, after } = asked.query()
    const found = await needed.deliveries
      .find(
        {
          subscription: key,
          ...(state && { state }),
          ...(event === undefined ? {} : { event }),
          ...(after && { order: { $lt: after[0] } }),
        },
        { projection: { payload: 0 }, maxTimeMS: QUERY_MS },
      )
      .sort({ order: -1 })
      .limit(limit + 1)
      .toArray()
    const { page, last } = splitPage(found, limit)
    res.json({ data: page.map(summaryOf), next: last === undefined ? null : encodeCursor([last.order]) })
  },
})

export const readDelivery = route({
  method: 'GET',
  path: '/rest/subscriptions/{id}/deliveries/{delivery}',
  access: 'read',
  id: 'readDelivery',
  tag: 'subscriptions',
  summary: 'Read one delivery, with what it says',
  parameters: [subscriptionId, deliveryParameter],
  response: {
    schema: deliveryDetail,
    example: { ...example, payload: { type: 'message.sent', timestamp: AT, workspace: 1, data: {} } },
  },
  errors: ['invalid_id', 'not_found'],
  handle: (needed: Subscribed) => async (req, res) => {
    const { key } = await subscribed(needed, req, res, 'read')
    const found = await needed.deliveries.findOne(
      { _id: req.params.delivery, subscription: key },
      { maxTimeMS: QUERY_MS },
    )
    if (found === null) throw new Problem('not_found')
    // The payload is for callers who may read all of its subject.
    const { kind } = await needed.authorizer.decide(callerOf(res), resourceOf(found), 'read')
    res.json({ ...summaryOf(found), ...(kind === 'all' ? { payload: parseJson(found.payload) } : {}) })
  },
})

export const replayDelivery = route({
  method: 'POST',
  path: '/rest/subscriptions/{id}/deliveries/{delivery}/replay',
  access: 'write',
  id: 'replayDelivery',
  tag: 'subscriptions',
  summary: 'Send an event again',
  description: 'At once, under the same `webhook-id`, whatever became of it.',
  parameters: [subscriptionId, deliveryParameter],
  response: {
    schema: z.object({ _id: z.string(), replayed: z.literal(true) }).meta({ id: 'ReplayedDelivery' }),
    example: { _id: ID, replayed: true },
  },
  errors: ['invalid_id', 'not_found', 'subscription_inactive'],
  handle: (needed: Subscribed) => async (req, res) => {
    const { key } = await subscribed(needed, req, res, 'write')
    const again = { _id: req.params.delivery, subscription: key }
    const found = await needed.deliveries.findOneAndUpdate(again, [AGAIN], { projection: { _id: 1 } })
    if (found === null) throw new Problem('not_found')
    res.json({ _id: found._id, replayed: true })
  },
})

export const replayDeliveries = route({
  method: 'POST',
  path: '/rest/subscriptions/{id}/replay',
  access: 'write',
  id: 'replayDeliveries',
  tag: 'subscriptions',
  summary: 'Send again what was made since a time',
  description:
    'What was delivered or given up, oldest first, at most 10,000 at a time; where there is more, `next` is the `since` of the next call.',
  parameters: [subscriptionId],
  body: {
    schema: deliveryReplay.meta({ id: 'DeliveryReplayBody' }),
    example: { since: AT },
    maxBytes: MAX_BODY_BYTES,
  },
  response: {
    schema: z
      .object({ replayed: z.number().int(), next: time.nullable() })
      .meta({ id: 'ReplayedDeliveries' }),
    example: { replayed: 12, next: null },
  },
  errors: ['invalid_id', 'not_found', 'subscription_inactive'],
  handle: (needed: Subscribed) => async (req, res, asked) => {
    const { key } = await subscribed(needed, req, res, 'write')
    const given = asked.body()
    const { page, last } = splitPage(await endedSince(needed.deliveries, key, given), given.limit)
    await needed.deliveries.updateMany({ _id: { $in: page.map(({ _id }) => _id) } }, [AGAIN])
    const next = last === undefined ? null : timeAfter(last.order)
    res.json({ replayed: page.length, next })
  },
})

export const testSubscription = route({
  method: 'POST',
  path: '/rest/subscriptions/{id}/test',
  access: 'write',
  id: 'testSubscription',
  tag: 'subscriptions',
  summary: 'Send a test event',
  description: 'Of type `subscription.test`, whatever events the subscription names.',
  parameters: [subscriptionId],
  response: {
    schema: z
      .object({ _id: z.string(), event: z.literal('subscription.test'), state: z.literal('pending') })
      .meta({ id: 'TestDelivery' }),
    example: { _id: ID, event: 'subscription.test' as const, state: 'pending' as const },
  },
  errors: ['invalid_id', 'not_found', 'subscription_inactive'],
  handle: (needed: Subscribed) => async (req, res) => {
    const subscription = await subscribed(needed, req, res, 'write')
    const _id = await insertTest(needed.insert, subscription)
    res.json({ _id, event: SUBSCRIPTION_TEST, state: 'pending' })
  },
})

interface Subscription {
  workspace: number
  _id: number
  name: string
  key: string
}

async function subscribed(
  needed: Subscribed,
  req: { params: { id: string } },
  res: { locals: Record<string, unknown> },
  access: 'read' | 'write',
): Promise<Subscription> {
  const caller = callerOf(res)
  const asked = { caller, resource: 'subscriptions', id: pathId(req.params), access } as const
  const { createdAt, name, active } = await requireDocument(needed, asked)
  if (access === 'write' && active !== true) throw new Problem('subscription_inactive')
  const named = { workspace: caller.workspace._id, _id: asked.id }
  const key = subscriptionKey({ ...named, createdAt: String(createdAt) })
  return { ...named, name: String(name), key }
}

/** A delivery as callers see it, without what it says. */
function summaryOf(delivery: Omit<Delivery, 'payload'>): object {
  const { _id, event, record, state, attempts, due, reason, createdAt } = delivery
  return {
    ...{ _id, event, record, state, attempts },
    ...(due === undefined ? {} : { due }),
    ...(reason === undefined ? {} : { reason }),
    createdAt,
  }
}

/** As it was when it was made, but for its attempts. */
const AGAIN = {
  $replaceWith: {
    $mergeObjects: [
      { $unsetField: { field: 'due', input: { $unsetField: { field: 'reason', input: '$$ROOT' } } } },
      { state: 'pending', fresh: true, tries: 0 },
    ],
  },
}

function endedSince(
  deliveries: EventCollections['deliveries'],
  subscription: string,
  { since, state, limit }: z.output<typeof deliveryReplay>,
): Promise<mongo.WithId<Pick<Delivery, '_id' | 'order'>>[]> {
  return deliveries
    .find(
      {
        subscription,
        order: { $gte: sequenceSince(since) },
        state: state ?? { $in: ['delivered', 'failed'] },
      },
      { projection: { order: 1 }, maxTimeMS: QUERY_MS },
    )
    .sort({ order: 1 })
    .limit(limit + 1)
    .toArray()
}

/** The least order of what was made since a time, which may say microseconds. */
function sequenceSince(time: string): number {
  const [, micros = ''] = /\.\d{3}(\d{1,3})/.exec(time) ?? []
  return sequenceAt(Date.parse(time)) + Number(micros.padEnd(3, '0'))
}

/** The time from which on that is found which follows an order. */
function timeAfter(order: number): string {
  const micros = String((order + 1) % 1_000).padStart(3, '0')
  return new Date(Math.floor((order + 1) / 1_000)).toISOString().replace('Z', `${micros}Z`)
}

async function insertTest(insert: InsertDeliveries, subscribed: Subscription): Promise<string> {
  const { key, workspace, _id, name } = subscribed
  const record = `subscriptions/${_id}`
  const unique = `test:${randomUUID()}`
  const data = { subscription: { _id, name } }
  await insert([
    {
      subscription: { key, shard: shardOf(key), workspace },
      event: SUBSCRIPTION_TEST,
      ...{ record, line: unique, key: unique, at: new Date(), data, shortData: data },
    },
  ])
  return deliveryId(key, record, unique)
}
