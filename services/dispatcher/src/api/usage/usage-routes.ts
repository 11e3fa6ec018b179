import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { parameterError } from '@parley/shared/list-query'
import { route } from '@parley/shared/openapi/route'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Collections } from '../../store/collections.ts'
import { SUMS, type UsageEntry, type UsageHour } from '../../store/usage-records.ts'

const QUERY_MS = 10_000
const MAX_ROWS = 5_000
const BY = ['day', 'channel', 'assistant', 'model', 'pricing'] as const

const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
  error: 'is no date and no time (ISO 8601)',
})

interface Row {
  _id: { key: unknown; provider?: string; category?: string; type?: string | null }
  messages: number
  modelMessages: number
  turns: number
  inputTokens: number
  outputTokens: number
  cachedTokens: number
  modelMs: number
  errors: number
}

/** Rules see channel, assistant, provider and model. */
async function visibleTo(authorizer: Authorizer, caller: Caller): Promise<mongo.Filter<mongo.BSON.Document>> {
  const decision = await authorizer.require(caller, 'usage', 'read')
  const own = { workspace: caller.workspace._id }
  return decision.kind === 'some' ? { $and: [own, decision.filter] } : own
}

/** Hours as far as they are added up, then single entries. */
async function read(
  { usage, usageHours, usageState }: Pick<Collections, 'usage' | 'usageHours' | 'usageState'>,
  asked: {
    visible: mongo.Filter<mongo.BSON.Document>
    by: (typeof BY)[number]
    since: Date | undefined
    until: Date | undefined
  },
): Promise<Row[]> {
  const { visible, by, since, until } = asked
  const addedUpTo = (await usageState.findOne({ _id: 'usage' }))?.addedUpTo ?? new Date(0)
  // An entry that only has a price is no use of a model.
  const ofKind = { category: { $exists: by === 'pricing' } }
  const between = (from: Date | undefined, to: Date | undefined) => ({
    $and: [visible, ofKind, { at: { ...(from && { $gte: from }), ...(to && { $lt: to }) } }],
  })
  const hours = between(since && beginningOf(since), earlier(until, addedUpTo))
  const entries = between(later(since, addedUpTo), until)
  return usageHours
    .aggregate<Row>(
      [
        { $match: hours as mongo.Filter<UsageHour> },
        {
          $unionWith: {
            coll: usage.collectionName,
            pipeline: [{ $match: entries as mongo.Filter<UsageEntry> }],
          },
        },
        { $group: { _id: keyOf(by), ...SUMS } },
        { $sort: { _id: 1 } },
        { $limit: MAX_ROWS },
      ],
      { maxTimeMS: QUERY_MS },
    )
    .toArray()
}

const HOUR_MS = 60 * 60 * 1_000
const beginningOf = (at: Date): Date => new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS)
const earlier = (one: Date | undefined, other: Date): Date => (one === undefined || one > other ? other : one)
const later = (one: Date | undefined, other: Date): Date => (one === undefined || one < other ? other : one)

function keyOf(by: (typeof BY)[number]): object {
  if (by === 'day') return { key: { $dateToString: { date: '$at', format: '%Y-%m-%d' } } }
  if (by === 'pricing') return { key: '$model', category: '$category', type: '$type' }
  return by === 'model' ? { key: '$model', provider: '$provider' } : { key: `$${by}` }
}

function rowOf({ _id, modelMessages, ...sums }: Row, by: (typeof BY)[number]): object {
  const { key, provider, category, type = null } = _id
  const { messages, turns, inputTokens, outputTokens, cachedTokens, modelMs, errors } = sums
  return {
    ...(by === 'pricing' ? { category, type, model: key } : { [by]: key }),
    ...(provider !== undefined && { provider }),
    messages: by === 'model' ? modelMessages : messages,
    ...{ turns, inputTokens, outputTokens, cachedTokens, modelMs, errors },
  }
}

const count = z.number().int().min(0)

const usageRow = z
  .object({
    day: z.iso.date().optional().describe('A day in UTC'),
    channel: z.string().nullish().describe('Its external id; null for what assistants were tried with'),
    assistant: z.number().int().optional().describe('Its `_id`'),
    model: z.string().optional().describe('With `pricing` that of the prices, as the provider names it'),
    category: z.string().optional().describe('What a message is to its provider: `utility`, `marketing`, …'),
    type: z.string().nullish().describe('How it is priced: `regular`, `free_customer_service`, …'),
    provider: z.string().optional().describe('Of the model'),
    messages: count.describe(
      'That a model was asked for, each once; with `pricing` those that are priced so',
    ),
    turns: count.describe('Answers of a model'),
    inputTokens: count,
    outputTokens: count,
    cachedTokens: count.describe('Of the input those that providers had in their caches'),
    modelMs: count.describe('How long models took'),
    errors: count.describe('Calls of a model that failed'),
  })
  .meta({
    id: 'Usage',
    description:
      'What was used of models, by one of day, channel, assistant and model, or of providers, by their pricing',
  })

export interface Used {
  collections: Pick<Collections, 'usage' | 'usageHours' | 'usageState'>
  authorizer: Authorizer
}

/** Adds up what assistants have used of their models, and what was sent, by what providers say that it costs. */
export const readUsage = route({
  method: 'GET',
  path: '/rest/usage',
  access: 'read',
  id: 'readUsage',
  tag: 'usage',
  summary: 'Read what was used of models',
  description:
    'At most 2 seconds behind, and there after the messages are removed, for five years. Days are those of UTC. Some hours ago and earlier, `from` and `to` count by whole hours.',
  query: z.object({
    by: z.enum(BY).default('day').describe('What it is added up by'),
    from: time.optional().describe('Used then or later: a date or a time'),
    to: time.optional().describe('Used before: a date or a time'),
  }),
  response: {
    schema: z.object({ data: z.array(usageRow) }).meta({ id: 'UsageReport' }),
    example: {
      data: [
        {
          day: '2026-11-20',
          messages: 12,
          turns: 31,
          inputTokens: 24_800,
          outputTokens: 3_100,
          cachedTokens: 18_900,
          modelMs: 40_200,
          errors: 1,
        },
      ],
    },
  },
  handle:
    ({ collections, authorizer }: Used) =>
    async (_req, res, asked) => {
      const visible = await visibleTo(authorizer, callerOf(res))
      const { by, from, to } = asked.query()
      const [since, until] = [from, to].map((text) => (text === undefined ? undefined : new Date(text)))
      if (since !== undefined && until !== undefined && until < since)
        throw parameterError('to', 'is before from', 'contradiction')
      const rows = await read(collections, { visible, by, since, until })
      res.set('cache-control', 'no-store').json({ data: rows.map((row) => rowOf(row, by)) })
    },
})
