import type { Authorizer } from '@parley/shared/authorizer'
import { noParameters, readQuery } from '@parley/shared/list-query'
import type { DescribedOperation } from '@parley/shared/openapi/operation'
import { methodNotAllowed } from '@parley/shared/problem'
import { Router } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { MessageRecord, MessageState } from '../../message/message-record.ts'
import { type Collections, STATE_INDEX } from '../../store/collections.ts'
import { visibleTo } from '../messages/visible.ts'
import { groupWaiting, WAITING_FIELDS, type WaitingRecord } from './group-waiting.ts'

const QUERY_MS = 2_000
const MAX_COUNTED = 10_000
const MAX_GROUPED = 1_000
// By another index all that has ended would be looked at, too.
const limits = { hint: STATE_INDEX, maxTimeMS: QUERY_MS }
const IN_FLIGHT: MessageState[] = ['received', 'handled', 'sending']

/**
 * GET /rest/messages/waiting: how many messages of the caller's workspace are in flight, the oldest of them, and what
 * they wait for. It counts 10,000 and looks at the oldest 1,000 at most, so it costs the same with any backlog.
 */
export function waitingRoutes(options: {
  messages: Collections['messages']
  authorizer: Authorizer
}): Router {
  const { messages, authorizer } = options
  const router = Router({ caseSensitive: true })
  router
    .route('/waiting')
    .get(async (req, res) => {
      readQuery(noParameters, req)
      const readable = await visibleTo(res, { authorizer, access: 'read' })
      const filter: mongo.Filter<MessageRecord> = { $and: [readable, { state: { $in: IN_FLIGHT } }] }
      const [count, oldest] = await Promise.all([
        messages.countDocuments(filter, { limit: MAX_COUNTED + 1, ...limits }),
        messages
          .find(filter, { projection: WAITING_FIELDS, ...limits })
          .sort({ receivedAt: 1, _id: 1 })
          .limit(MAX_GROUPED)
          .toArray(),
      ])
      res.set('cache-control', 'no-store').json({
        messages: Math.min(count, MAX_COUNTED),
        more: count > MAX_COUNTED,
        groups: groupWaiting(oldest as WaitingRecord[]),
      })
    })
    .all(methodNotAllowed('GET'))
  return router
}

const count = z.number().int()
const AT = '2026-11-20T11:36:37.316Z'

export const waitingOperation: DescribedOperation = {
  method: 'GET',
  path: '/rest/messages/waiting',
  id: 'readWaiting',
  tag: 'messages',
  summary: 'What is in flight, and what it waits for',
  description:
    'As far as it is stored, which takes half a second. Costs the same with any backlog: at most 10,000 messages are counted, and the oldest 1,000 are grouped.',
  parameters: [],
  response: {
    schema: z
      .object({
        messages: count.describe('In flight; 10,000 at most'),
        more: z.boolean().describe('Whether there are more'),
        groups: z
          .array(
            z
              .object({
                for: z.string().describe('What they wait for, as in the `waiting` of a message'),
                messages: count.describe('Of the oldest 1,000'),
                oldest: z.object({
                  _id: z.string(),
                  thread: z.string(),
                  channel: z.string(),
                  receivedAt: z.iso.datetime(),
                }),
              })
              .meta({ id: 'WaitingGroup' }),
          )
          .describe('The one with the oldest message first'),
      })
      .meta({ id: 'MessagesWaiting' }),
    example: {
      messages: 2,
      more: false,
      groups: [
        {
          for: 'retry',
          messages: 2,
          oldest: { _id: 'm-1', thread: 'order-4711', channel: 'support-line', receivedAt: AT },
        },
      ],
    },
  },
  errors: ['validation_failed'],
}
