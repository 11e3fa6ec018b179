import type { Authorizer } from '@parley/shared/authorizer'
import { collectPage } from '@parley/shared/collect-page'
import type { InternalClient } from '@parley/shared/internal-client'
import { safeInteger } from '@parley/shared/json-object'
import { cursorOf, encodeCursor, pageLimit } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { type NoticeRecord, noticeView } from '../../message/notice-record.ts'
import { requireDocument } from '../assistant/require-assistant.ts'

const QUERY_MS = 5_000

const time = z.iso.datetime()

export const notice = z
  .object({
    _id: z.string(),
    channel: z.object({ _id: safeInteger, extId: z.string() }),
    field: z.string().describe('What it is about, in the provider’s words'),
    at: time.nullable().describe('When it happened by the provider’s clock'),
    text: z.string().describe('What it says, in a line'),
    value: z.unknown().describe('All that the provider sent of it'),
    receivedAt: time,
  })
  .meta({ id: 'ChannelNotice', description: 'Something that happened to a channel at its provider' })

export const noticeExample = {
  _id: '1f0cbd0e-4a0c-8c9a-9a0e-2b8f1c1f0a55',
  channel: { _id: 1, extId: 'support-line' },
  field: 'quality_update',
  at: '2026-11-20T11:36:37.000Z',
  text: 'event: DOWNGRADE, current_limit: TIER_1K',
  value: { event: 'DOWNGRADE', current_limit: 'TIER_1K' },
  receivedAt: '2026-11-20T11:36:37.235Z',
}

export interface Noticed {
  collections: { notices: mongo.Collection<NoticeRecord> }
  authorizer: Authorizer
  configuration: Pick<InternalClient, 'get'>
}

/** For those who may read the channel. */
export const listNotices = route({
  method: 'GET',
  path: '/rest/channels/{id}/notices',
  access: 'read',
  id: 'listChannelNotices',
  tag: 'channels',
  summary: 'List what happened to a channel at its provider',
  description:
    'Newest first: what its webhook got beside messages and statuses. They are stored as long as ended messages are. A page may have fewer than `limit`, where they are large.',
  parameters: [idParameter('The `_id` of the channel')],
  query: z.object({
    limit: pageLimit,
    after: cursorOf(z.tuple([z.number().int(), z.string()])).optional(),
  }),
  response: pageOf('ChannelNotice', notice, noticeExample),
  errors: ['invalid_id', 'not_found'],
  handle: (needed: Noticed) => async (req, res, asked) => {
    const caller = callerOf(res)
    const id = pathId(req.params)
    await requireDocument(needed, { caller, resource: 'channels', id, access: 'read' })
    const { limit, after } = asked.query()
    const [time = 0, _id] = after ?? []
    const receivedAt = new Date(time)
    const cursor = needed.collections.notices
      .find(
        {
          ...{ workspace: caller.workspace._id, channelId: id },
          ...(_id !== undefined && {
            $or: [{ receivedAt: { $lt: receivedAt } }, { receivedAt, _id: { $lt: _id } }],
          }),
        },
        { maxTimeMS: QUERY_MS },
      )
      .sort({ receivedAt: -1, _id: -1 })
      .limit(limit + 1)
    const { found, more } = await collectPage(cursor, limit)
    const last = more ? found.at(-1) : undefined
    res.set('cache-control', 'no-store').json({
      data: found.map(noticeView),
      next: last === undefined ? null : encodeCursor([last.receivedAt.getTime(), last._id]),
    })
  },
})
