import { randomUUID } from 'node:crypto'
import type { Authorizer } from '@parley/shared/authorizer'
import { SUBSCRIPTION_TEST } from '@parley/shared/event-types'
import type { InternalClient } from '@parley/shared/internal-client'
import { jsonBody } from '@parley/shared/json-body'
import { cursorOf, encodeCursor, pageLimit, readQuery, splitPage } from '@parley/shared/list-query'
import { parseJson } from '@parley/shared/parse-json'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { type InsertDeliveries, sequenceAt } from '../../events/insert-deliveries.ts'
import { resourceOf } from '../../events/readable.ts'
import { subscriptionKey } from '../../events/subscriptions.ts'
import { DELIVERY_STATES, type Delivery, deliveryId, shardOf } from '../../message/delivery.ts'
import type { EventCollections } from '../../store/event-collections.ts'
import { idIn, requireDocument } from '../assistant/require-assistant.ts'

const MAX_BODY_BYTES = 64 * 1024
const QUERY_MS = 5_000
const MAX_REPLAYED = 10_000

/** What the deliveries of a subscription are asked by. */
export const deliveryQuery = z.object({
  state: z.enum(DELIVERY_STATES).optional(),
  event: z.string().max(128).optional(),
  limit: pageLimit,
  after: cursorOf(z.tuple([z.number().int().nonnegative()])).optional(),
})

/** Which deliveries are to be made again. */
export const deliveryReplay = z.strictObject({
  since: z.iso.datetime({ offset: true }).describe('Those made since then, to the microsecond'),
  state: z.enum(['delivered', 'failed']).optional().describe('Only those; both when left out'),
  limit: z.number().int().min(1).max(MAX_REPLAYED).default(MAX_REPLAYED),
})

interface Subscribed {
  workspace: number
  _id: number
  name: string
  key: string
}

/**
 * Below /rest/subscriptions/{id}: GET deliveries and deliveries/{delivery}, what was sent and what came of it; POST
 * deliveries/{delivery}/replay and replay, to send again under the same ids; POST test, to send a test event.
 */
export function deliveryRoutes(options: {
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
  deliveries: EventCollections['deliveries']
  insert: InsertDeliveries
}): Router {
  const { authorizer, deliveries, insert } = options
  const subscribed = async (
    req: { params: { id: string } },
    res: { locals: Record<string, unknown> },
    access: 'read' | 'write',
  ): Promise<Subscribed> => {
    const caller = callerOf(res)
    const asked = { caller, resource: 'subscriptions', id: idIn(req.params.id), access } as const
    const { createdAt, name, active } = await requireDocument(options, asked)
    if (access === 'write' && active !== true) throw new Problem('subscription_inactive')
    const named = { workspace: caller.workspace._id, _id: asked.id }
    const key = subscriptionKey({ ...named, createdAt: String(createdAt) })
    return { ...named, name: String(name), key }
  }
  const router = Router({ caseSensitive: true })
  router
    .route('/:id/deliveries')
    .get(async (req, res) => {
      const { key } = await subscribed(req, res, 'read')
      const { state, event, limit, after } = readQuery(deliveryQuery, req)
      const found = await deliveries
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
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/:id/deliveries/:delivery')
    .get(async (req, res) => {
      const { key } = await subscribed(req, res, 'read')
      const found = await deliveries.findOne(
        { _id: req.params.delivery, subscription: key },
        { maxTimeMS: QUERY_MS },
      )
      if (found === null) throw new Problem('not_found')
      // What it says is for those who may read all of what it is about.
      const { kind } = await authorizer.decide(callerOf(res), resourceOf(found), 'read')
      res.json({ ...summaryOf(found), ...(kind === 'all' ? { payload: parseJson(found.payload) } : {}) })
    })
    .all(methodNotAllowed('GET'))
  router
    .route('/:id/deliveries/:delivery/replay')
    .post(async (req, res) => {
      const { key } = await subscribed(req, res, 'write')
      const again = { _id: req.params.delivery, subscription: key }
      const found = await deliveries.findOneAndUpdate(again, [AGAIN], { projection: { _id: 1 } })
      if (found === null) throw new Problem('not_found')
      res.json({ _id: found._id, replayed: true })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/:id/replay')
    .post(jsonBody({ maxBytes: MAX_BODY_BYTES }), async (req, res) => {
      const { key } = await subscribed(req, res, 'write')
      const asked = deliveryReplay.parse(parse(deliveryReplay, req.body ?? {}))
      const { page, last } = splitPage(await endedSince(deliveries, key, asked), asked.limit)
      await deliveries.updateMany({ _id: { $in: page.map(({ _id }) => _id) } }, [AGAIN])
      const next = last === undefined ? null : timeAfter(last.order)
      res.json({ replayed: page.length, next })
    })
    .all(methodNotAllowed('POST'))
  router
    .route('/:id/test')
    .post(async (req, res) => {
      const subscription = await subscribed(req, res, 'write')
      const _id = await insertTest(insert, subscription)
      res.json({ _id, event: SUBSCRIPTION_TEST, state: 'pending' })
    })
    .all(methodNotAllowed('POST'))
  return router
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

async function insertTest(insert: InsertDeliveries, subscribed: Subscribed): Promise<string> {
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
