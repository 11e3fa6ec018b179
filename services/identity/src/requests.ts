import { collectPage } from '@parley/shared/collect-page'
import { jsonBody } from '@parley/shared/json-body'
import { jsonObject } from '@parley/shared/json-object'
import { idCursor, pageLimit, readQuery } from '@parley/shared/list-query'
import { Problem } from '@parley/shared/problem'
import { escapeKeys } from '@parley/shared/safe-keys'
import type { Request, RequestHandler } from 'express'
import type { mongo } from 'mongoose'
import { z } from 'zod'

// The documents of a batch are in memory at once, and one may have over a megabyte.
const BATCH = 25
const MAX_MS = 5_000

/** What pages are asked for by. */
export const pageQuery = z.object({ limit: pageLimit, after: idCursor.optional() })

/**
 * One page of what `filter` selects, by id: 50 documents or the `limit` asked for, at most 200, and fewer where they come
 * to 8 MiB. `next` is what `after` has to be for the following page, null on the last one.
 */
export async function page<T extends { _id: number } & mongo.Document, V>(options: {
  req: Request
  collection: mongo.Collection<T>
  filter: Record<string, unknown>
  view(document: T): V
  newestFirst?: true
}): Promise<{ data: V[]; next: string | null }> {
  const { collection, filter, view, newestFirst } = options
  const { limit, after } = readQuery(pageQuery, options.req)
  const from = after === undefined ? {} : { _id: newestFirst ? { $lt: after } : { $gt: after } }
  const cursor = collection
    .find({ $and: [filter, from] } as mongo.Filter<T>)
    .sort({ _id: newestFirst ? -1 : 1 })
    .limit(limit + 1)
    .batchSize(BATCH)
    .maxTimeMS(MAX_MS)
  const { found, more } = await collectPage(cursor as unknown as mongo.FindCursor<T>, limit)
  const last = more ? found.at(-1) : undefined
  return { data: found.map(view), next: last === undefined ? null : String(last._id) }
}

const INTEGER = /^(0|[1-9]\d{0,15})$/

/** The id at the end of the path. Throws `invalid_id` when it is not a safe integer in its plain form. */
export function pathId(req: Request): number {
  const text = String(req.params.id)
  const id = Number(text)
  if (!INTEGER.test(text) || !Number.isSafeInteger(id)) throw new Problem('invalid_id')
  return id
}

const MAX_CONTEXT_BYTES = 2_048

/**
 * A free-form object of at most 2 KiB as JSON: it travels with every request of the account. Parsed, it is as it is
 * stored.
 */
export const smallContext = jsonObject
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_CONTEXT_BYTES, {
    error: `has more than ${MAX_CONTEXT_BYTES} bytes`,
  })
  .transform((value) => escapeKeys(value))

const MAX_BODY_BYTES = 64 * 1024

/** Reads the JSON body of a request below `/api/auth`; at most 64 KiB. */
export const authBody = (): RequestHandler => jsonBody({ maxBytes: MAX_BODY_BYTES })
