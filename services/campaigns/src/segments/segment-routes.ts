import type { Caller } from '@parley/shared/internal-token'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { allows } from '@parley/shared/permission/decide'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import type { Connection, mongo } from 'mongoose'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'
import { historyRoute } from '../history/history-route.ts'
import { inTransactionOn, writeHistory } from '../history/write-history.ts'
import { visibleTo } from '../people/find-person.ts'
import { authorOf } from '../store/author.ts'
import { findSegment, requireFilter, viewOf } from './find-segment.ts'
import { segmentFilter } from './segment-filter.ts'
import { countPeople } from './segment-people.ts'
import { type SegmentRecord, segmentsOf } from './segment-store.ts'

const MAX_BYTES = 256 * 1024
const MAX_SEGMENTS = 200
const QUERY_MS = 5_000
const ID = /^[a-z\d][a-z\d_-]{0,63}$/i

const example = { all: [{ language: 'pt' }, { consent: 'marketing', is: 'granted' }], none: [{ tag: 'vip' }] }
const body = z
  .strictObject({ name: z.string().min(1).max(128), filter: segmentFilter })
  .meta({ id: 'SegmentBody' })
const view = body
  .extend({ _id: z.string(), createdAt: z.iso.datetime(), updatedAt: z.iso.datetime() })
  .meta({ id: 'Segment', description: 'People by what is known of them' })
const AT = '2026-11-02T12:00:00.000Z'
const one = { name: 'Brazil', filter: example }
const shown = { _id: 'brazil', ...one, createdAt: AT, updatedAt: AT }
const parameter: OperationParameter = {
  in: 'path',
  name: 'id',
  description: 'A name for paths: 1 to 64 letters, digits, dashes and underscores',
  schema: z.string().regex(ID),
  required: true,
  example: 'brazil',
}

function idOf({ id }: { id: string }): string {
  // That path counts.
  if (!ID.test(id) || id === 'count')
    throw new Problem('invalid_id', { detail: 'It is no name of a segment.' })
  return id
}

const listSegments = route({
  method: 'GET',
  path: '/rest/segments',
  access: 'read',
  id: 'listSegments',
  tag: 'people',
  summary: 'List segments',
  description: 'All of them, by name: a workspace has at most 200.',
  response: {
    schema: z.object({ data: z.array(view), next: z.string().nullable() }),
    example: { data: [shown], next: null },
  },
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res) => {
      const caller = callerOf(res)
      const read = await authorizer.require(caller, 'segments', 'read')
      const found = await segmentsOf(connection)
        .find({ '_id.workspace': caller.workspace._id }, { maxTimeMS: QUERY_MS })
        .sort({ '_id.id': 1 })
        .limit(MAX_SEGMENTS)
        .toArray()
      res.json({ data: found.map(viewOf).filter((segment) => allows(read, segment)), next: null })
    },
})

const readSegment = route({
  method: 'GET',
  path: '/rest/segments/{id}',
  access: 'read',
  id: 'readSegment',
  tag: 'people',
  summary: 'Read a segment',
  parameters: [parameter],
  response: { schema: view, example: shown },
  errors: ['invalid_id', 'not_found'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    const id = idOf(req.params)
    const found = await findSegment(dependencies, { caller: callerOf(res), id })
    if (found === undefined) throw new Problem('not_found')
    res.json(viewOf(found))
  },
})

const putSegment = route({
  method: 'PUT',
  path: '/rest/segments/{id}',
  access: 'write',
  id: 'putSegment',
  tag: 'people',
  summary: 'Save a segment',
  description: 'Replaces it, or adds it where there is none under this name.',
  parameters: [parameter],
  body: { schema: body, example: one, maxBytes: MAX_BYTES },
  response: { schema: view, example: shown },
  errors: ['invalid_id'],
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (req, res, asked) => {
      const id = idOf(req.params)
      const caller = callerOf(res)
      const write = await authorizer.require(caller, 'segments', 'write')
      const { name, filter } = asked.body()
      const workspace = caller.workspace._id
      await requireFilter({ connection, authorizer }, { caller, filter })
      const segments = segmentsOf(connection)
      const _id = { workspace, id }
      const saved = await inTransactionOn(connection, async (session) => {
        const before = await segments.findOne({ _id }, { session })
        const now = new Date()
        const next = { _id, name, filter, createdAt: before?.createdAt ?? now, updatedAt: now }
        if ((before !== null && !allows(write, viewOf(before))) || !allows(write, viewOf(next)))
          throw new Problem('forbidden', { detail: 'The role may not write this segment.' })
        if (before === null) await requireRoom(connection, workspace, session)
        await segments.replaceOne({ _id }, next, { upsert: true, session })
        await noteChange(connection, session, { caller, id, before, after: next })
        return next
      })
      res.json(viewOf(saved))
    },
})

async function requireRoom(
  connection: Connection,
  workspace: number,
  session: mongo.ClientSession,
): Promise<void> {
  const count = await segmentsOf(connection).countDocuments({ '_id.workspace': workspace }, { session })
  if (count < MAX_SEGMENTS) return
  const message = `a workspace has at most ${MAX_SEGMENTS} segments`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'too_many', message }] })
}

/** Writes the history of a change of a segment. */
function noteChange(
  connection: Connection,
  session: mongo.ClientSession,
  {
    caller,
    id,
    before,
    after,
  }: { caller: Caller; id: string; before: SegmentRecord | null; after: SegmentRecord | null },
): Promise<void> {
  const content = (segment: SegmentRecord | null) =>
    segment === null ? undefined : { name: segment.name, filter: segment.filter }
  return writeHistory(connection, session, {
    ...{ workspace: caller.workspace._id, resource: 'segments', by: authorOf(caller) },
    changes: [{ id, before: content(before), after: content(after) }],
  })
}

const deleteSegment = route({
  method: 'DELETE',
  path: '/rest/segments/{id}',
  access: 'write',
  id: 'deleteSegment',
  tag: 'people',
  summary: 'Delete a segment',
  parameters: [parameter],
  response: {
    schema: z.object({ _id: z.string(), deleted: z.literal(true) }).meta({ id: 'DeletedSegment' }),
    example: { _id: 'brazil', deleted: true },
  },
  errors: ['invalid_id', 'not_found'],
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (req, res) => {
      const id = idOf(req.params)
      const caller = callerOf(res)
      const write = await authorizer.require(caller, 'segments', 'write')
      const read = await authorizer.decide(caller, 'segments', 'read')
      const _id = { workspace: caller.workspace._id, id }
      await inTransactionOn(connection, async (session) => {
        const found = await segmentsOf(connection).findOne({ _id }, { session })
        if (found === null || !allows(read, viewOf(found))) throw new Problem('not_found')
        if (!allows(write, viewOf(found))) throw new Problem('forbidden')
        await segmentsOf(connection).deleteOne({ _id }, { session })
        await noteChange(connection, session, { caller, id, before: found, after: null })
      })
      res.json({ _id: id, deleted: true })
    },
})

const countSegment = route({
  method: 'POST',
  path: '/rest/segments/count',
  access: 'read',
  resource: 'people',
  id: 'countSegment',
  tag: 'people',
  summary: 'Count whom a filter finds',
  description: 'Of the people whom the caller may read.',
  body: {
    schema: z.strictObject({ filter: segmentFilter }).meta({ id: 'SegmentCount' }),
    example: { filter: example },
    maxBytes: MAX_BYTES,
  },
  response: { schema: z.object({ count: z.number().int() }), example: { count: 4_711 } },
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const read = await authorizer.require(caller, 'people', 'read')
      const { filter } = asked.body()
      await requireFilter({ connection, authorizer }, { caller, filter })
      const { workspace, ...also } = visibleTo(caller, read) as { workspace: number }
      const count = await countPeople(connection, { workspace, filter, also })
      res.json({ count })
    },
})

const segmentHistory = historyRoute({
  ...{ resource: 'segments', title: 'Segment', one: 'a segment', tag: 'people', parameter, idOf },
  example: {
    ...{ version: 1, operation: 'created', at: AT, by: { _id: 1, username: 'ana@example.com' } },
    changes: [{ path: '/name', after: 'Brazil' }],
  },
  find: async (connection, { workspace, id, session }) => {
    const found = await segmentsOf(connection).findOne({ _id: { workspace, id } }, { session })
    return found === null ? undefined : viewOf(found)
  },
})

/** The operations of `/rest/segments`. */
export const segmentRoutes: readonly Route<Dependencies>[] = [
  ...[listSegments, readSegment, putSegment, deleteSegment, countSegment, segmentHistory],
]
