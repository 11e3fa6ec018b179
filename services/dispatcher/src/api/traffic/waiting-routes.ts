import type { Authorizer } from '@parley/shared/authorizer'
import { route } from '@parley/shared/openapi/route'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import {
  type MessageRecord,
  type MessageState,
  threadKey,
  type Waiting,
} from '../../message/message-record.ts'
import { type Collections, STATE_INDEX } from '../../store/collections.ts'
import { visibleTo } from '../messages/filter.ts'
import { waitingOf } from '../messages/view.ts'

/** Fields of a message that show its reason to wait, without any of its content. */
const WAITING_FIELDS = {
  ...{ workspace: 1, thread: 1, lane: 1, order: 1, channel: 1, open: 1, due: 1, waitingFor: 1, state: 1 },
  ...{ receivedAt: 1, updatedAt: 1, 'sends.state': 1, 'turns.provider': 1 },
} as const

const QUERY_MS = 2_000
const MAX_COUNTED = 10_000
const MAX_GROUPED = 1_000
// By another index all that has ended would be looked at, too.
const limits = { hint: STATE_INDEX, maxTimeMS: QUERY_MS }
const IN_FLIGHT: MessageState[] = ['received', 'handled', 'sending']

const count = z.number().int()
const AT = '2026-11-20T11:36:37.316Z'

export interface InFlight {
  collections: Pick<Collections, 'messages'>
  authorizer: Authorizer
}

export const readWaiting = route({
  method: 'GET',
  path: '/rest/messages/waiting',
  access: 'read',
  id: 'readWaiting',
  tag: 'messages',
  summary: 'What is in flight, and what it waits for',
  description:
    'As far as it is stored, which takes half a second. Costs the same with any backlog: at most 10,000 messages are counted, and the oldest 1,000 are grouped.',
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
  handle:
    ({ collections: { messages }, authorizer }: InFlight) =>
    async (_req, res, asked) => {
      asked.query()
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
    },
})

type WaitingRecord = Pick<
  MessageRecord,
  'workspace' | 'thread' | 'lane' | 'order' | 'channel' | 'open' | 'due' | 'waitingFor' | 'state'
> &
  Pick<MessageRecord, '_id' | 'receivedAt' | 'updatedAt' | 'sends'> & { turns?: object[] }

interface WaitingGroup {
  for: Waiting
  messages: number
  oldest: Pick<MessageRecord, '_id' | 'thread' | 'channel' | 'receivedAt'>
}

/** Messages in flight by what they wait for, the group with the oldest one first. `records` begin with the oldest. */
function groupWaiting(records: WaitingRecord[]): WaitingGroup[] {
  const heads = headsOf(records)
  const groups = new Map<Waiting, WaitingGroup>()
  for (const record of records) {
    const head = heads.get(threadKey(record))
    const before = head !== record && record.state === 'received' ? head?._id : undefined
    const isWorkedInTurns = record.turns !== undefined
    const waiting = waitingOf({ ...record, attempts: [] }, { isWorkedInTurns, before })
    if (waiting === undefined) continue
    const { _id, thread, channel, receivedAt } = record
    const group = groups.get(waiting.for) ?? {
      for: waiting.for,
      messages: 0,
      oldest: { _id, thread, channel, receivedAt },
    }
    group.messages++
    groups.set(waiting.for, group)
  }
  return [...groups.values()]
}

/** The first message of each thread, by its sequence number. */
function headsOf(records: WaitingRecord[]): Map<string, WaitingRecord> {
  const heads = new Map<string, WaitingRecord>()
  for (const record of records) {
    const head = heads.get(threadKey(record))
    if (head === undefined || record.order < head.order) heads.set(threadKey(record), record)
  }
  return heads
}
