import type { Authorizer } from '@parley/shared/authorizer'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { parse } from '@parley/shared/validate'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Collections } from '../database.ts'
import { MESSAGE_STATES, type MessageRecord } from '../message-record.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { detailOf, summaryOf } from './view.ts'

const query = z.strictObject({
  status: z.enum(MESSAGE_STATES).optional(),
  channel: z.string().max(1_024).optional(),
  thread: z.string().max(1_024).optional(),
  from: z.iso.datetime({ offset: true }).optional(),
  to: z.iso.datetime({ offset: true }).optional(),
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
  const readable = async (res: { locals: Record<string, unknown> }): Promise<mongo.Filter<MessageRecord>> => {
    const caller = callerOf(res)
    const decision = await authorizer.require(caller, 'messages', 'read')
    const own = { workspace: caller.workspace._id }
    return decision.kind === 'some' ? { $and: [own, decision.filter] } : own
  }
  const router = Router()
  router
    .route('/')
    .get(async (req, res) => {
      const allowed = await readable(res)
      const asked = parse(query, req.query)
      const found = await messages
        .find(
          { $and: [allowed, filterOf(asked)] },
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
      const allowed = await readable(res)
      const record = await messages.findOne(
        { $and: [{ _id: req.params.id }, allowed] },
        { maxTimeMS: QUERY_MS },
      )
      if (record === null) throw new Problem('not_found')
      res.json(detailOf(record))
    })
    .all(methodNotAllowed('GET'))
  return router
}

function filterOf(asked: z.output<typeof query>): mongo.Filter<MessageRecord> {
  const { status, channel, thread, from, to, after } = asked
  const position = after === undefined ? undefined : decodeCursor(after)
  return {
    ...(status === undefined ? {} : { state: status }),
    ...(channel === undefined ? {} : { channel }),
    ...(thread === undefined ? {} : { thread }),
    $and: [
      from === undefined ? {} : { receivedAt: { $gte: new Date(from) } },
      to === undefined ? {} : { receivedAt: { $lt: new Date(to) } },
      position === undefined ? {} : beyond(position),
    ],
  }
}

function beyond({ receivedAt, _id }: { receivedAt: Date; _id: string }): mongo.Filter<MessageRecord> {
  return { $or: [{ receivedAt: { $lt: receivedAt } }, { receivedAt, _id: { $lt: _id } }] }
}
