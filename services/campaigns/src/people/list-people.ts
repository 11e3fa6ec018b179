import { collectPage } from '@parley/shared/collect-page'
import { cursorOf, encodeCursor, pageLimit } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { route } from '@parley/shared/openapi/route'
import { phoneDigits } from '@parley/shared/providers/address'
import { callerOf } from '@parley/shared/service-app'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import {
  ADDRESS_INDEX,
  CONSENT_INDEX,
  LIST_INDEX,
  NAME_INDEX,
  peopleOf,
  TAG_INDEX,
} from '../store/people-collection.ts'
import { nameKeyOf, type PersonRecord } from '../store/person-record.ts'
import { visibleTo } from './find-person.ts'
import { personExample, personView, readTag } from './person-schema.ts'
import { viewOf } from './view.ts'

const QUERY_MS = 5_000
const MAX_FOUND = 1_000

const query = z.object({
  q: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('The beginning of the name, or of the phone number; the first 1,000 that have it are listed'),
  tag: z.string().min(1).max(64).optional().describe('A tag that they have'),
  marketing: z
    .enum(['granted', 'withdrawn', 'unknown'])
    .optional()
    .describe('What they said to marketing; `unknown` is who said nothing'),
  limit: pageLimit,
  after: cursorOf(z.tuple([z.uuid()])).optional(),
})
type Query = z.output<typeof query>

/** `GET /rest/people`: a page of the people that the caller may read, the newest first. */
export const listPeople = route({
  method: 'GET',
  path: '/rest/people',
  access: 'read',
  id: 'listPeople',
  tag: 'people',
  summary: 'List people',
  description: 'The newest first. With `q` they are searched.',
  query,
  response: pageOf('Person', personView, personExample),
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const readable = await authorizer.require(caller, 'people', 'read')
      const { limit, ...filters } = asked.query()
      const cursor = peopleOf(connection).aggregate<PersonRecord>(
        [...stagesOf(visibleTo(caller, readable), filters), { $limit: limit + 1 }],
        { maxTimeMS: QUERY_MS, hint: hintOf(filters) },
      )
      const { found, more } = await collectPage(cursor, limit)
      const last = more ? found.at(-1) : undefined
      res.json({ data: found.map(viewOf), next: last === undefined ? null : encodeCursor([last._id]) })
    },
})

const MARKETING = 'consent.marketing.status'

type Filters = Omit<Query, 'limit'>

function stagesOf(
  visible: mongo.Filter<PersonRecord>,
  { q, tag, marketing, after }: Filters,
): mongo.Document[] {
  const beyond = after === undefined ? {} : { _id: { $lt: after[0] } }
  const tagged = tag === undefined ? {} : { tags: readTag(tag) ?? tag }
  const agreed = marketing === undefined ? {} : { [MARKETING]: marketing === 'unknown' ? null : marketing }
  const all = { $and: [visible, tagged, agreed, ...(q === undefined ? [beyond] : [beginning(q)])] }
  // A search has no order of its own in an index, so as many people are sorted as are found.
  const searched = q === undefined ? [] : [{ $limit: MAX_FOUND }, { $match: beyond }]
  return [{ $match: all }, ...searched, { $sort: { _id: -1 } }]
}

function beginning(q: string): mongo.Filter<PersonRecord> {
  const digits = digitsOf(q)
  if (digits !== undefined) return { addresses: { $elemMatch: startingWith(`phone:${digits}`) } }
  return { nameKey: startingWith(nameKeyOf(q)) }
}

const digitsOf = (q: string): string | undefined => (/^[\d\s()+./-]+$/.test(q) ? phoneDigits(q) : undefined)

const startingWith = (text: string) => ({ $gte: text, $lt: `${text}\u{10FFFF}` })

function hintOf({ q, tag, marketing }: Filters): mongo.Hint {
  if (q !== undefined) return digitsOf(q) === undefined ? NAME_INDEX : ADDRESS_INDEX
  if (tag !== undefined) return TAG_INDEX
  return marketing === undefined ? LIST_INDEX : CONSENT_INDEX
}
