import { collectPage } from '@parley/shared/collect-page'
import { isDuplicate } from '@parley/shared/insert-new'
import type { Caller } from '@parley/shared/internal-token'
import { idCursor, pageLimit } from '@parley/shared/list-query'
import { pageOf } from '@parley/shared/openapi/operation'
import { idParameter, pathId } from '@parley/shared/openapi/path-id'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { inTransaction } from '@parley/shared/transaction'
import type { mongo } from 'mongoose'
import { z } from 'zod'
import { findReadable, findWritable, requireFound, scopeOf } from './access/authorizer.ts'
import type { Administration } from './administration.ts'
import { requireStillValid } from './password-change/recent-password.ts'
import { id } from './schemas.ts'
import type { ProvenAccount } from './store/account.ts'
import { type Actor, actorOf, audit, changesOf } from './store/audit.ts'
import { announce, type Change } from './store/change.ts'
import type { Collections } from './store/collections.ts'

// The documents of a batch are in memory at once, and one may have over a megabyte.
const BATCH = 25
const MAX_MS = 5_000

/** One kind of documents that a workspace is administered with, and all that its operations have in common. */
export interface Resource<T> {
  /** In the audit log. */
  name: string
  /** The resource of the roles' rules; the same as the name when left out. */
  ruledBy?: string
  path: string
  tag: string
  /** Names its page in the document. */
  title: string
  /** Of what callers see of it. */
  schema: z.ZodType
  example: unknown
  view(document: T): object
  collection(collections: Collections): mongo.Collection<T & mongo.Document>
}

type Words = Pick<Route<Administration>, 'id' | 'summary'> & { description?: string }

/** The filters of a list. */
interface Filters {
  parameters: z.ZodRawShape
  select(asked: Record<string, unknown>): object
}

const ruled = <T>({ name, ruledBy = name }: Resource<T>): string => ruledBy

/**
 * `GET` of the collection: a page of what the caller may read, by id: 50 documents or the `limit` asked for, at most 200, and
 * fewer where they come to 8 MiB. `next` is what `after` has to be for the following page, null on the last one.
 */
export function listRoute<T extends { _id: number }>(
  resource: Resource<T>,
  { newestFirst, filters, ...words }: Words & { newestFirst?: true; filters?: Filters },
): Route<Administration> {
  return route({
    ...words,
    method: 'GET',
    path: resource.path,
    access: 'read',
    resource: ruled(resource),
    tag: resource.tag,
    query: z.object({ limit: pageLimit, after: idCursor.optional(), ...filters?.parameters }),
    response: pageOf(resource.title, resource.schema, resource.example),
    handle:
      ({ collections, authorizer }: Administration) =>
      async (_req, res, asked) => {
        const caller = callerOf(res)
        const readable = scopeOf(caller, await authorizer.require(caller, ruled(resource), 'read'))
        const { limit, after, ...filter } = asked.query()
        const from = after === undefined ? {} : { _id: newestFirst ? { $lt: after } : { $gt: after } }
        const cursor = resource
          .collection(collections)
          .find({ $and: [readable, from, filters?.select(filter) ?? {}] } as mongo.Filter<T & mongo.Document>)
          .sort({ _id: newestFirst ? -1 : 1 })
          .limit(limit + 1)
          .batchSize(BATCH)
          .maxTimeMS(MAX_MS)
        const { found, more } = await collectPage(cursor as unknown as mongo.FindCursor<T>, limit)
        const last = more ? found.at(-1) : undefined
        res.json({ data: found.map(resource.view), next: last === undefined ? null : String(last._id) })
      },
  })
}

/** `GET` of a document: as the caller may read it. */
export function readRoute<T extends { _id: number }>(
  resource: Resource<T>,
  words: Words,
): Route<Administration> {
  return route({
    ...words,
    method: 'GET',
    path: `${resource.path}/{id}`,
    access: 'read',
    resource: ruled(resource),
    tag: resource.tag,
    parameters: [idParameter()],
    response: { schema: resource.schema, example: resource.example },
    errors: ['invalid_id', 'not_found'],
    handle: (administration: Administration) => async (req, res) => {
      const found = await findReadable({
        ...lookupOf(resource, administration),
        caller: callerOf(res),
        id: pathId(req.params),
      })
      res.json(resource.view(found as T))
    },
  })
}

/** Where a document of the resource is found, as far as its rules let it. */
export const lookupOf = <T>(resource: Resource<T>, { authorizer, collections }: Administration) => ({
  ...{ authorizer, resource: ruled(resource), collection: resource.collection(collections) },
})

const deleted = z
  .object({ _id: id, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted' })

/** The part of deleting that differs from kind to kind. */
interface Deleting<T> extends Words {
  errors?: NonNullable<Route<Administration>['errors']>
  /** The `_id` of the example. */
  example?: number
  /** Throws where the caller may not have this one. */
  requireMayDelete?(administration: Administration, caller: Caller, document: T): Promise<void>
  /** Selects the document for as long as nothing has changed that was judged. */
  asJudged?(document: T): Record<string, unknown>
  /** Deletes what goes with it, in the same transaction. */
  along?(collections: Collections, transaction: mongo.ClientSession, document: T): Promise<void>
  /** The callers that the gateway forgets. */
  forgets?: Change['kind']
  details(document: T): Record<string, unknown>
}

/** `DELETE` of a document, once, with what ends with it and the act in the audit log. */
export function deleteRoute<T extends { _id: number }>(
  resource: Resource<T>,
  deleting: Deleting<T>,
): Route<Administration> {
  const { requireMayDelete, asJudged, along, forgets, details, errors = [], example = 1, ...words } = deleting
  return route({
    ...words,
    method: 'DELETE',
    path: `${resource.path}/{id}`,
    access: 'write',
    resource: ruled(resource),
    tag: resource.tag,
    parameters: [idParameter()],
    response: { schema: deleted, example: { _id: example, deleted: true } },
    errors: ['invalid_id', 'not_found', ...errors, 'precondition_failed'],
    handle: (administration: Administration) => async (req, res) => {
      const { connection, collections } = administration
      const caller = actorOf(res)
      const lookup = { ...lookupOf(resource, administration), caller, id: pathId(req.params) }
      const found = await findWritable(lookup)
      const document = found.document as T
      await requireMayDelete?.(administration, caller, document)
      await inTransaction(connection, async (transaction) => {
        const unchanged = { $and: [found.writable, asJudged?.(document) ?? {}] }
        const { deletedCount } = await lookup.collection.deleteOne(
          unchanged as mongo.Filter<T & mongo.Document>,
          { session: transaction },
        )
        requireFound(deletedCount)
        await along?.(collections, transaction, document)
        if (forgets !== undefined)
          await announce(collections.changes, transaction, { kind: forgets, key: String(document._id) })
        await audit(collections, transaction, caller, {
          ...{ action: 'delete', resource: resource.name, document: document._id },
          details: details(document),
        })
      })
      res.json({ _id: document._id, deleted: true })
    },
  })
}

/**
 * Stores a new document, with the act in the audit log, as long as the caller may still act; `along` comes first in the same
 * transaction.
 */
export async function storeNew<T extends { _id: number }>(
  { connection, collections }: Administration,
  resource: Resource<T>,
  storing: {
    caller: Actor
    proven?: ProvenAccount
    document: T
    details: Record<string, unknown>
    along?(transaction: mongo.ClientSession): Promise<void>
  },
): Promise<void> {
  const { caller, document, details, along, ...proven } = storing
  await inTransaction(connection, async (transaction) => {
    await requireStillValid(collections, transaction, { caller, ...proven })
    await along?.(transaction)
    const options = { session: transaction }
    await resource
      .collection(collections)
      .insertOne(document as mongo.OptionalUnlessRequiredId<T & mongo.Document>, options)
    const act = { action: 'create', resource: resource.name, document: document._id, details }
    await audit(collections, transaction, caller, act)
  })
}

/** Runs `store`, and turns its clash over the name into `name_taken`. */
export async function refusingTakenName(store: () => Promise<void>): Promise<void> {
  try {
    await store()
  } catch (error) {
    throw isDuplicate(error, 'name') ? new Problem('name_taken') : error
  }
}

/**
 * Stores a change with the act in the audit log, as long as the caller may still act; `along` follows in the same transaction.
 * Throws `precondition_failed` where `selected` selects the document no more.
 */
export async function storeChange<T extends { _id: number }>(
  { connection, collections }: Administration,
  resource: Resource<T>,
  storing: {
    caller: Actor
    selected: Record<string, unknown>
    set: Partial<T>
    /** As it was. */
    before: T
    details: Record<string, unknown>
    /** The callers that the gateway forgets. */
    forgets?: Pick<Change, 'kind' | 'key'>
    along?(transaction: mongo.ClientSession): Promise<void>
  },
): Promise<void> {
  const { caller, selected, set, before, details, forgets, along } = storing
  await inTransaction(connection, async (transaction) => {
    await requireStillValid(collections, transaction, { caller })
    const { matchedCount } = await resource
      .collection(collections)
      .updateOne(
        selected as mongo.Filter<T & mongo.Document>,
        { $set: set } as mongo.UpdateFilter<T & mongo.Document>,
        { session: transaction },
      )
    requireFound(matchedCount)
    await along?.(transaction)
    if (forgets !== undefined) await announce(collections.changes, transaction, forgets)
    await audit(collections, transaction, caller, {
      ...{ action: 'update', resource: resource.name, document: before._id, details },
      changes: changesOf(before, set),
    })
  })
}
