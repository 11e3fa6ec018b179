import type { Authorizer } from '@parley/shared/authorizer'
import { cursorOf, encodeCursor, pageLimit, readQuery, splitPage } from '@parley/shared/list-query'
import { methodNotAllowed, Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { MESSAGE_STATES, type MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { filterOf, isIndexed, messageFilter, ofPhone, ofThreadNamed, statesIn, visibleTo } from './filter.ts'
import { detailOf, summaryOf } from './view.ts'

/** Where a page ended: when its last message was received, in milliseconds since the epoch, and its id. */
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

/** What the message log is asked by. */
export const messageQuery = z.object({
  ...messageFilter,
  limit: pageLimit,
  after: cursorOf(position).optional(),
})

const QUERY_MS = 5_000
/** Of the messages that all else fits, so many are looked at for one page of those of a user. */
const LOOKED_AT = 20_000

/** GET /rest/messages and /rest/messages/{id}: the message log of the caller's workspace. */
export function messageRoutes(options: {
  collections: Pick<Collections, 'messages' | 'threads'>
  authorizer: Authorizer
}): Router {
  const { collections, authorizer } = options
  const { messages, threads } = collections
  const readable = (res: { locals: Record<string, unknown> }) =>
    visibleTo(res, { authorizer, access: 'read' })
  const router = Router({ caseSensitive: true })
  router
    .route('/')
    .get(async (req, res) => {
      const allowed = await readable(res)
      const asked = readQuery(messageQuery, req)
      const states = statesIn(asked) ?? (isIndexed(asked) ? undefined : MESSAGE_STATES)
      const { names, ...filter } = filterOf(asked)
      const all = {
        $and: [
          allowed,
          states === undefined ? {} : { state: { $in: [...states] } },
          filter,
          await ofThreadNamed(threads, { workspace: callerOf(res).workspace._id, thread: asked.thread }),
          asked.after ? beyond(asked.after) : {},
        ],
      }
      const queryFor = (more: mongo.Filter<MessageRecord>) => ofPhone(asked, { $and: [all, more] })
      const limit = asked.limit + 1
      const ofUser = names === undefined ? undefined : await idsOf(messages, queryFor({}), { names, limit })
      const found = await messages
        .find(queryFor(ofUser === undefined ? {} : { _id: { $in: ofUser.ids } }), {
          projection: { body: 0, answer: 0, turns: 0 },
          maxTimeMS: QUERY_MS,
        })
        .sort({ receivedAt: -1, _id: -1 })
        .limit(limit)
        .toArray()
      const { page, last = ofUser?.last } = splitPage(found, asked.limit)
      const next = last === undefined ? null : encodeCursor([last.receivedAt.getTime(), last._id])
      res.json({ data: page.map((record) => summaryOf(record)), next })
    })
    // The gateway takes posts of messages to the webhook.
    .all(methodNotAllowed('GET', 'POST'))
  router
    .route('/:id')
    .get(async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await readable(res)] }
      const record = await messages.findOne(filter, { maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      res.json(detailOf(record, await messageBefore(messages, record)))
    })
    .all(methodNotAllowed('GET'))
  return router
}

type Place = Pick<MessageRecord, '_id' | 'receivedAt'>

/**
 * The messages of a user, which no index has: as many as are asked for, among the latest 20,000 that all else fits.
 * `last` is where to go on when there are more of those.
 */
async function idsOf(
  messages: Collections['messages'],
  filter: mongo.Filter<MessageRecord>,
  { names, limit }: { names: unknown; limit: number },
): Promise<{ ids: string[]; last: Place | undefined }> {
  const ids: string[] = []
  let last: Place | undefined
  let looked = 0
  const places = messages
    .find(filter, { maxTimeMS: QUERY_MS, batchSize: 1_000 })
    .project<Place & Pick<MessageRecord, 'names'>>({ receivedAt: 1, names: 1 })
    .sort({ receivedAt: -1, _id: -1 })
    .limit(LOOKED_AT)
  for await (const place of places) {
    looked++
    last = place
    if (place.names?.includes(String(names))) ids.push(place._id)
    if (ids.length === limit) return { ids, last: undefined }
  }
  return { ids, last: looked === LOOKED_AT ? last : undefined }
}

/** The first open message of the thread, which has to end before this one; undefined where there is none. */
async function messageBefore(
  messages: Collections['messages'],
  { partition, workspace, thread, lane, order, open, state }: MessageRecord,
): Promise<string | undefined> {
  if (open !== true || state !== 'received' || lane !== undefined) return undefined
  const head = await messages
    .find(
      { partition, workspace, thread, lane: { $exists: false }, open: true, order: { $lt: order } },
      { projection: { _id: 1 }, maxTimeMS: QUERY_MS },
    )
    .sort({ order: 1 })
    .limit(1)
    .next()
  return head?._id
}

/** What comes after that place in a list. */
export function beyond([at, _id]: z.output<typeof position>): mongo.Filter<MessageRecord> {
  const receivedAt = new Date(at)
  // The first is implied by the second, which the database can't begin at.
  return {
    receivedAt: { $lte: receivedAt },
    $or: [{ receivedAt: { $lt: receivedAt } }, { _id: { $lt: _id } }],
  }
}
