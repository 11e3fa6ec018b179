import { expect, test } from '@jest/globals'
import { replayDeliveries } from '@parley/dispatcher/api/subscriptions/delivery-routes'
import { createInsertDeliveries } from '@parley/dispatcher/outgoing/insert-deliveries'
import { subscriptionKey } from '@parley/dispatcher/outgoing/subscriptions'
import { listen } from '@parley/local/testing/service-under-test'
import { serveRoutes } from '@parley/shared/openapi/route'
import express, { type RequestHandler } from 'express'
import { eventDatabase } from './event-database.ts'

const CREATED_AT = '2026-01-01T00:00:00.000Z'
const key = subscriptionKey({ workspace: 1, _id: 1, createdAt: CREATED_AT })
const database = eventDatabase()

/** The routes, to a caller who may do everything. */
function routes() {
  const { collections } = database
  const app = express()
  const decision = { kind: 'all', test: () => true }
  const needed = {
    deliveries: collections.deliveries,
    insert: createInsertDeliveries({ collections, retentionMs: 60_000, now: Date.now }),
    configuration: {
      get: async () => ({ _id: 1, name: 'own', active: true, createdAt: CREATED_AT }) as never,
    },
    authorizer: { require: async () => decision, decide: async () => decision } as never,
  }
  const requireCaller: RequestHandler = (_req, res, next) => {
    res.locals.caller = { workspace: { _id: 1 } }
    next()
  }
  app.use(serveRoutes([replayDeliveries], needed, { requireCaller }))
  return listen(app)
}

test('following `next` sends each delivery again once, also of those that were found in one millisecond', async () => {
  const { collections } = database
  const insert = createInsertDeliveries({
    collections,
    retentionMs: 60_000,
    now: () => Date.parse(CREATED_AT),
  })
  const named = { subscription: { key, shard: 0, workspace: 1 }, event: 'message.sent', line: 'thread/t' }
  await insert(
    Array.from({ length: 25 }, (_, n) => ({
      ...{ ...named, record: `messages/${n}`, key: 'sent', at: new Date(), data: {}, shortData: {} },
    })),
  )
  const delivered = { $set: { state: 'delivered' as const }, $unset: { fresh: '' as const } }
  await collections.deliveries.updateMany({}, delivered)
  const server = await routes()
  const replayed: number[] = []
  for (let since: string | null = CREATED_AT; since !== null && replayed.length < 10; ) {
    const answer = await fetch(`${server.url}/rest/subscriptions/1/replay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ since, limit: 10 }),
    })
    const page = (await answer.json()) as { replayed: number; next: string | null }
    replayed.push(page.replayed)
    since = page.next
    // Replayed deliveries arrive before the next page is asked for.
    await collections.deliveries.updateMany({}, delivered)
  }
  await server.close()
  expect(replayed).toEqual([10, 10, 5])
})
