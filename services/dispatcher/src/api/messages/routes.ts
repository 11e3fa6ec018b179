import type { Authorizer } from '@parley/shared/authorizer'
import { defined } from '@parley/shared/defined'
import { cursorOf, encodeCursor, pageLimit, readQuery, splitPage } from '@parley/shared/list-query'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { filterOf, messageFilter, statesIn } from './filter.ts'
import { detailOf, summaryOf } from './view.ts'
import { visibleTo } from './visible.ts'

/** Where a page ended: when its last message was received, in milliseconds since the epoch, and its id. */
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

/** What the message log is asked by. */
export const messageQuery = z.object({
  ...messageFilter,
  limit: pageLimit,
  after: cursorOf(position).optional(),
})

const QUERY_MS = 5_000

/** GET /rest/messages and /rest/messages/{id}: the message log of the caller's workspace. */
export function messageRoutes(options: {
  messages: Collections['messages']
  authorizer: Authorizer
}): Router {
  const { messages, authorizer } = options
  const readable = (res: { locals: Record<string, unknown> }) =>
    visibleTo(res, { authorizer, access: 'read' })
  const router = Router({ caseSensitive: true })
  router
    .route('/')
    .get(async (req, res) => {
      const allowed = await readable(res)
      const asked = readQuery(messageQuery, req)
      const states = statesIn(asked)
      const state = states && { $in: [...states] }
      const found = await messages
        .find(
          { $and: [allowed, defined({ state }), filterOf(asked), asked.after ? beyond(asked.after) : {}] },
          { projection: { body: 0, answer: 0, turns: 0 }, maxTimeMS: QUERY_MS },
        )
        .sort({ receivedAt: -1, _id: -1 })
        .limit(asked.limit + 1)
        .toArray()
      const { page, last } = splitPage(found, asked.limit)
      const next = last === undefined ? null : encodeCursor([last.receivedAt.getTime(), last._id])
      res.json({ data: page.map(summaryOf), next })
    })
    // The gateway takes posts of messages to the webhook.
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/:id')
    .get(async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await readable(res)] }
      const record = await messages.findOne(filter, { maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      res.json(detailOf(record))
    })
    .all(methodNotAllowed('GET'))
  return router
}

function beyond([at, _id]: z.output<typeof position>): mongo.Filter<MessageRecord> {
  const receivedAt = new Date(at)
  return { $or: [{ receivedAt: { $lt: receivedAt } }, { receivedAt, _id: { $lt: _id } }] }
}
