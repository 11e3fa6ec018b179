import type { Authorizer } from '@parley/shared/authorizer'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { MESSAGE_STATES, type MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { decodeCursor, encodeCursor, type Position } from './cursor.ts'
import { filterOf, messageFilter } from './filter.ts'
import { detailOf, summaryOf } from './view.ts'
import { visibleTo } from './visible.ts'

/** What the message log is asked by. */
export const messageQuery = z.strictObject({
  ...messageFilter,
  status: z.enum(MESSAGE_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: z.string().max(1_024).optional(),
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
      const asked = parse(messageQuery, req.query)
      const state = asked.status === undefined ? {} : { state: asked.status }
      const position = asked.after === undefined ? {} : beyond(decodeCursor(asked.after))
      const found = await messages
        .find(
          { $and: [allowed, state, filterOf(asked), position] },
          { projection: { body: 0, answer: 0 }, maxTimeMS: QUERY_MS },
        )
        .sort({ receivedAt: -1, _id: -1 })
        .limit(asked.limit + 1)
        .toArray()
      const page = found.slice(0, asked.limit)
      const last = page.at(-1)
      const next = found.length > asked.limit && last !== undefined ? encodeCursor(last) : null
      res.json({ data: page.map(summaryOf), next })
    })
    .all(methodNotAllowed('GET'))
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

function beyond({ receivedAt, _id }: Position): mongo.Filter<MessageRecord> {
  return { $or: [{ receivedAt: { $lt: receivedAt } }, { receivedAt, _id: { $lt: _id } }] }
}
