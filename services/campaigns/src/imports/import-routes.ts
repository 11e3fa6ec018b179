import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { FairSlots, type SlotLimits } from '@parley/shared/fair-slots'
import { cursorOf, encodeCursor, pageLimit, queryFlag } from '@parley/shared/list-query'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { pageOf } from '@parley/shared/openapi/operation'
import { type Route, route } from '@parley/shared/openapi/route'
import { Problem } from '@parley/shared/problem'
import { callerOf } from '@parley/shared/service-app'
import { z } from 'zod'
import { findAttributeTypes } from '../attributes/attribute-store.ts'
import type { Dependencies } from '../dependencies.ts'
import { readTag } from '../people/person-schema.ts'
import { beginImport } from './begin-import.ts'
import { findImport, visibleImports } from './find-import.ts'
import { type ImportFormat, type ImportRecord, importsOf, rowErrorId, rowErrorsOf } from './import-record.ts'
import {
  IMPORT_ID,
  importExample,
  importView,
  importViewOf,
  rowErrorExample,
  rowErrorView,
} from './import-schema.ts'
import { blocksOf, endImport, runImport, UnreadableFile } from './run-import.ts'
import { MAX_ERRORS, Superseded } from './settle-rows.ts'

const QUERY_MS = 5_000
const MAX_TAGS = 10
/** How many files are read at once, for one workspace and in all; others wait, which is long enough for small ones. */
const LIMITS: SlotLimits = {
  ...{ of: 'imports', total: 32, each: [2] },
  queue: { total: 128, each: 16, ms: 15_000 },
}
const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'

const parameter: OperationParameter = {
  in: 'path',
  name: 'id',
  description: 'The `_id` of an import',
  schema: z.string(),
  required: true,
  example: IMPORT_ID,
}
const one = { tag: 'people', resource: 'people', parameters: [parameter] } as const
const response = { schema: importView, example: importExample }

const key: OperationParameter = {
  in: 'header',
  name: 'Idempotency-Key',
  description:
    'A name for the file: the same file under it goes on where an earlier request broke off, and no row counts twice',
  schema: z.string().min(1).max(128),
  example: 'november',
}

const postImport = route({
  method: 'POST',
  path: '/rest/people/imports',
  access: 'write',
  resource: 'people',
  id: 'postImport',
  tag: 'people',
  summary: 'Import people from a file',
  description:
    'The body is the file: CSV with a header, or NDJSON with a person on each line as they are posted. It is settled while it comes, and the response says what became of it. A row finds its person by an address, as a posted person does. Who has withdrawn consent is not made to have granted it. What is wrong with rows is listed by `/errors`, and hinders no other row. After a request that broke off, send the same again with the same `Idempotency-Key`.',
  parameters: [key],
  query: z.object({
    tag: z.string().optional().describe(`Tags for all of the file, separated by commas; ${MAX_TAGS} at most`),
    ignoreColumns: queryFlag.describe('Columns that nobody knows are ignored rather than refused'),
    offset: z
      .int()
      .min(0)
      .default(0)
      .describe('In bytes: where in the file this body begins; what is settled already is passed over'),
    more: queryFlag.describe('The file goes on after this body, and another request has the rest'),
  }),
  body: {
    schema: z.string(),
    example: 'phone,name,consent\n+55 11 98888-7777,João Souza,granted\n4711,Nobody,\n',
    types: [CSV, NDJSON],
  },
  response,
  errors: ['idempotency_in_flight', 'idempotency_key_reused', 'body_too_large', 'unsupported_media_type'],
  handle: (dependencies: Dependencies) => {
    const turns = new FairSlots(LIMITS)
    return async (req, res, asked) => {
      const caller = callerOf(res)
      const write = await dependencies.authorizer.require(caller, 'people', 'write')
      const { tag, offset, more: hasMore, ignoreColumns: ignoresColumns } = asked.query()
      const format = formatOf(req)
      const options = {
        ...{ caller, format, tags: tagsIn(tag), ignoresColumns, offset, hasMore },
        key: keyOf(req.headers['idempotency-key']),
        types: await findAttributeTypes(dependencies.connection, caller.workspace._id),
      }
      const most = dependencies.importMaxBytes - offset
      if (Number(req.headers['content-length'] ?? 0) > most) throw new Problem('body_too_large')
      const release = await turns.enter([caller.workspace._id])
      try {
        // The body of a caller who hung up meanwhile is gone.
        if (req.destroyed) return
        const blocks = blocksOf(req, { most })
        const begun = await beginImport(dependencies.connection, options, blocks)
        if ('over' in begun) return void res.json(importViewOf(begun.over))
        const { record } = begun
        const needed = { ...dependencies, write, types: options.types }
        const run = runImport({ ...needed, record, blocks: begun.blocks, hasMore })
        res.json(importViewOf(await run.catch((error: unknown) => endBroken(dependencies, record, error))))
      } finally {
        release()
      }
    }
  },
})

/** Throws `unsupported_media_type`. */
function formatOf(req: IncomingMessage): ImportFormat {
  const [type = '', ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';')
  const charset = /charset="?([\w-]+)/.exec(parameters.join(';'))?.[1] ?? 'utf-8'
  const coding = req.headers['content-encoding'] ?? 'identity'
  const format = { [CSV]: 'csv', [NDJSON]: 'ndjson' }[type.trim()] as ImportFormat | undefined
  if (format === undefined || !['utf-8', 'utf8', 'us-ascii'].includes(charset) || coding !== 'identity')
    throw new Problem('unsupported_media_type', {
      detail: `Send ${CSV} or ${NDJSON}, as UTF-8 and not compressed.`,
    })
  return format
}

function tagsIn(given = ''): string[] {
  const tags = given.split(',').filter((tag) => tag.trim() !== '')
  const read = [...new Set(tags.flatMap((tag) => readTag(tag) ?? []))]
  if (tags.every((tag) => readTag(tag) !== undefined) && read.length <= MAX_TAGS) return read
  const message = `are not up to ${MAX_TAGS} tags of 1 to 64 characters`
  throw new Problem('validation_failed', { errors: [{ path: '/tag', code: 'tag', message }] })
}

function keyOf(given: string | string[] | undefined): string {
  if (given === undefined) return randomUUID()
  if (typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given)) return given
  const message = 'is not 1 to 128 characters of ASCII without spaces'
  throw new Problem('validation_failed', { errors: [{ path: '/Idempotency-Key', code: 'key', message }] })
}

/** Ends an import that broke off before the end of the body, and returns it where it was cancelled. Else throws why. */
async function endBroken(
  dependencies: Pick<Dependencies, 'connection'>,
  record: ImportRecord,
  error: unknown,
): Promise<ImportRecord> {
  if (error instanceof UnreadableFile) {
    const { failure } = error
    await endImport(dependencies, record, { state: 'failed', failure })
    const { line, code, message } = failure
    throw new Problem('validation_failed', {
      errors: [{ path: `/line/${line}`, code, message }],
      extra: { import: record._id },
    })
  }
  if (error instanceof Superseded) {
    const found = await importsOf(dependencies.connection).findOne({ _id: record._id })
    if (found?.state === 'cancelled') return found
    throw new Problem('idempotency_in_flight', {
      detail: 'Another request works this import.',
      retryAfter: 2,
    })
  }
  if (error instanceof Problem && error.code === 'body_too_large') {
    const { message } = error
    await endImport(dependencies, record, {
      state: 'failed',
      failure: { line: record.line, code: error.code, message },
    })
  }
  // It is also open again where this can't be written: later, when nobody is seen to work it.
  else await endImport(dependencies, record, { state: 'open' }).catch(() => undefined)
  throw error
}

const listImports = route({
  method: 'GET',
  path: '/rest/people/imports',
  access: 'read',
  resource: 'people',
  id: 'listImports',
  tag: 'people',
  summary: 'List imports',
  description: 'The newest first, for 30 days; of who may not read all people, their own.',
  query: z.object({ limit: pageLimit, after: cursorOf(z.tuple([z.uuid()])).optional() }),
  response: pageOf('Import', importView, importExample),
  handle:
    ({ connection, authorizer }: Dependencies) =>
    async (_req, res, asked) => {
      const caller = callerOf(res)
      const read = await authorizer.require(caller, 'people', 'read')
      const { limit, after } = asked.query()
      const beyond = after === undefined ? {} : { _id: { $lt: after[0] } }
      const found = await importsOf(connection)
        .find({ ...visibleImports(caller, read), ...beyond }, { maxTimeMS: QUERY_MS })
        .sort({ _id: -1 })
        .limit(limit + 1)
        .toArray()
      const page = found.slice(0, limit)
      const last = found.length > limit ? page.at(-1) : undefined
      const data = page.map((record) => importViewOf(record))
      res.json({ data, next: last === undefined ? null : encodeCursor([last._id]) })
    },
})

const readImport = route({
  ...one,
  method: 'GET',
  path: '/rest/people/imports/{id}',
  access: 'read',
  id: 'readImport',
  summary: 'Read an import',
  response,
  errors: ['invalid_id', 'not_found'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    res.json(importViewOf(await findImport(dependencies, { caller: callerOf(res), id: req.params.id })))
  },
})

const listImportErrors = route({
  ...one,
  method: 'GET',
  path: '/rest/people/imports/{id}/errors',
  access: 'read',
  id: 'listImportErrors',
  summary: 'List what is wrong with rows of an import',
  description: `By their lines; the first ${MAX_ERRORS} are stored, the others are counted.`,
  query: z.object({ limit: pageLimit, after: cursorOf(z.tuple([z.string().max(128)])).optional() }),
  response: pageOf('ImportErrors', rowErrorView, rowErrorExample),
  errors: ['invalid_id', 'not_found'],
  handle: (dependencies: Dependencies) => async (req, res, asked) => {
    const { _id } = await findImport(dependencies, { caller: callerOf(res), id: req.params.id })
    const { limit, after } = asked.query()
    const from = after === undefined ? { $gte: rowErrorId(_id, 0) } : { $gt: `${_id}/${after[0]}` }
    const found = await rowErrorsOf(dependencies.connection)
      .find({ _id: { ...from, $lt: `${_id}0` } }, { maxTimeMS: QUERY_MS })
      .sort({ _id: 1 })
      .limit(limit + 1)
      .toArray()
    const page = found.slice(0, limit)
    const last = found.length > limit ? page.at(-1) : undefined
    const data = page.map(({ line, path, code, message }) => ({ line, path, code, message }))
    res.json({ data, next: last === undefined ? null : encodeCursor([last._id.slice(_id.length + 1)]) })
  },
})

const cancelImport = route({
  ...one,
  method: 'DELETE',
  path: '/rest/people/imports/{id}',
  access: 'write',
  id: 'cancelImport',
  summary: 'Cancel an import',
  description: 'No further row is settled; who was imported stays. One that is over stays as it is.',
  response,
  errors: ['invalid_id', 'not_found'],
  handle: (dependencies: Dependencies) => async (req, res) => {
    const caller = callerOf(res)
    await dependencies.authorizer.require(caller, 'people', 'write')
    const found = await findImport(dependencies, { caller, id: req.params.id })
    const cancelled = await importsOf(dependencies.connection).findOneAndUpdate(
      { _id: found._id, state: { $nin: ['finished', 'cancelled'] } },
      { $set: { state: 'cancelled', updatedAt: new Date() }, $unset: { owner: '', busyUntil: '' } },
      { returnDocument: 'after' },
    )
    res.json(importViewOf(cancelled ?? found))
  },
})

/** The operations of `/rest/people/imports`. */
export const importRoutes: readonly Route<Dependencies>[] = [
  ...[postImport, listImports, readImport, listImportErrors, cancelImport],
]
