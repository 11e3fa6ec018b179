import type { Authorizer } from '@parley/shared/authorizer'
import { cursorOf, encodeCursor, pageLimit, splitPage } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { MESSAGE_STATES, type MessageRecord } from '../../message/message-record.ts'
import type { Collections } from '../../store/collections.ts'
import { filterOf, isIndexed, messageFilter, ofPhone, ofThreadNamed, statesIn, visibleTo } from './filter.ts'
import { detail, detailExample, idParameter, summary, summaryExample } from './message-schemas.ts'
import { detailOf, summaryOf } from './view.ts'

/** Where a page ended: when its last message was received, in milliseconds since the epoch, and its id. */
const position = z.tuple([z.number().int().min(0).max(8.64e15), z.string().min(1).max(128)])

const QUERY_MS = 5_000
/** Of the messages that all else fits, so many are looked at for one page of those of a user. */
const LOOKED_AT = 20_000

/** The dependencies of the message log. */
export interface MessageLog {
  collections: Pick<Collections, 'messages' | 'threads'>
  authorizer: Authorizer
}

export const listMessages = route({
  method: 'GET',
  path: '/rest/messages',
  access: 'read',
  id: 'listMessages',
  tag: 'messages',
  summary: 'List messages',
  description: 'The latest first.',
  query: z.object({
    ...messageFilter,
    user: messageFilter.user.describe(
      `${messageFilter.user.description}; a page looks at the latest 20,000 messages that all else fits, and may be shorter than \`limit\` with a \`next\``,
    ),
    limit: pageLimit,
    after: cursorOf(position).optional(),
  }),
  response: pageOf('Message', summary, summaryExample),
  handle: ({ collections, authorizer }: MessageLog) => {
    const { messages, threads } = collections
    return async (_req, res, asked) => {
      const allowed = await visibleTo(res, { authorizer, access: 'read' })
      const given = asked.query()
      const states = statesIn(given) ?? (isIndexed(given) ? undefined : MESSAGE_STATES)
      const { names, ...filter } = filterOf(given)
      const all = {
        $and: [
          allowed,
          states === undefined ? {} : { state: { $in: [...states] } },
          filter,
          await ofThreadNamed(threads, { workspace: callerOf(res).workspace._id, thread: given.thread }),
          given.after ? beyond(given.after) : {},
        ],
      }
      const queryFor = (more: mongo.Filter<MessageRecord>) => ofPhone(given, { $and: [all, more] })
      const limit = given.limit + 1
      const ofUser = names === undefined ? undefined : await idsOf(messages, queryFor({}), { names, limit })
      const found = await messages
        .find(queryFor(ofUser === undefined ? {} : { _id: { $in: ofUser.ids } }), {
          projection: { body: 0, answer: 0, turns: 0 },
          maxTimeMS: QUERY_MS,
        })
        .sort({ receivedAt: -1, _id: -1 })
        .limit(limit)
        .toArray()
      const { page, last = ofUser?.last } = splitPage(found, given.limit)
      const next = last === undefined ? null : encodeCursor([last.receivedAt.getTime(), last._id])
      res.json({ data: page.map((record) => summaryOf(record)), next })
    }
  },
})

export const readMessage = route({
  method: 'GET',
  path: '/rest/messages/{id}',
  access: 'read',
  id: 'readMessage',
  tag: 'messages',
  summary: 'Read a message',
  parameters: [idParameter],
  response: { schema: detail, example: detailExample },
  errors: ['not_found'],
  handle:
    ({ collections: { messages }, authorizer }: MessageLog) =>
    async (req, res) => {
      const filter = { $and: [{ _id: req.params.id }, await visibleTo(res, { authorizer, access: 'read' })] }
      const record = await messages.findOne(filter, { maxTimeMS: QUERY_MS })
      if (record === null) throw new Problem('not_found')
      res.json(detailOf(record, await messageBefore(messages, record)))
    },
})

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

/** Returns the filter for messages after that place in a list. */
export function beyond([at, _id]: z.output<typeof position>): mongo.Filter<MessageRecord> {
  const receivedAt = new Date(at)
  // The first is implied by the second, which the database can't begin at.
  return {
    receivedAt: { $lte: receivedAt },
    $or: [{ receivedAt: { $lt: receivedAt } }, { _id: { $lt: _id } }],
  }
}
