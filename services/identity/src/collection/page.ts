import { parse } from '@parley/shared/validate'
import type { Request } from 'express'
import type { Model } from 'mongoose'
import { z } from 'zod'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 200

/** What pages are asked for by. */
export const pageQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
  after: z.coerce.number().int().min(0).optional(),
})

/**
 * One page of what `filter` selects, by id: 50 documents or the `limit` asked for, at most 200. `next` is
 * what `after` has to be for the following page, null on the last one.
 */
export async function page<T extends { _id: number }, V>(options: {
  req: Request
  model: Model<T>
  filter: Record<string, unknown>
  view(document: T): V
  newestFirst?: true
}): Promise<{ data: V[]; next: string | null }> {
  const { model, filter, view, newestFirst } = options
  const { limit, after } = parse(pageQuery, options.req.query)
  const from = after === undefined ? {} : { _id: newestFirst ? { $lt: after } : { $gt: after } }
  const found = (await model
    .find({ $and: [filter, from] })
    .sort({ _id: newestFirst ? -1 : 1 })
    .limit(limit + 1)
    .lean()) as T[]
  const last = found.length > limit ? found[limit - 1] : undefined
  return { data: found.slice(0, limit).map(view), next: last === undefined ? null : String(last._id) }
}
