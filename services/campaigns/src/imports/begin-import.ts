import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isDuplicate } from '@parley/shared/insert-new'
import type { Caller } from '@parley/shared/internal-token'
import { Problem } from '@parley/shared/problem'
import type { Connection } from 'mongoose'
import type { AttributeTypes } from '../attributes/attribute-store.ts'
import { type ImportFormat, type ImportRecord, importsOf, RETENTION_MS } from './import-record.ts'
import { readShape } from './read-shape.ts'
import { digestOf } from './run-import.ts'
import { BUSY_MS } from './settle-rows.ts'

const QUERY_MS = 5_000
const HEAD_BYTES = 1_024

type Block = { bytes: Buffer; isLast: boolean }

/** A request that hands in a file, or a part of one. */
interface AskedImport {
  caller: Caller
  key: string
  format: ImportFormat
  tags: string[]
  ignoresColumns: boolean
  /** Where in the file its body begins. */
  offset: number
  hasMore: boolean
  types: AttributeTypes
}

/** An import that a request works, and what comes from where it is on; or one that is over. */
type Begun = { record: ImportRecord; blocks: AsyncIterable<Block> } | { over: ImportRecord }

/**
 * Begins an import, or goes on with the one of its key. Throws `validation_failed` for a file that is none,
 * `idempotency_in_flight` while another request works it, `idempotency_key_reused`.
 */
export async function beginImport(
  connection: Connection,
  asked: AskedImport,
  blocks: AsyncIterator<Block>,
): Promise<Begun> {
  const { caller, key } = asked
  const imports = importsOf(connection)
  const found = await imports.findOne({ workspace: caller.workspace._id, key }, { maxTimeMS: QUERY_MS })
  return found === null
    ? startImport(connection, asked, blocks)
    : resumeImport(connection, asked, found, blocks)
}

async function startImport(
  connection: Connection,
  asked: AskedImport,
  blocks: AsyncIterator<Block>,
): Promise<Begun> {
  const { caller, key, format, tags, hasMore } = asked
  if (asked.offset > 0) throw gap(0)
  const first = await nextOf(blocks)
  const begun = readShape(first.bytes, { ...asked, isWhole: first.isLast && !hasMore })
  if (begun === undefined) {
    const message = 'has not come whole with the first part'
    throw new Problem('validation_failed', { errors: [{ path: '/line/1', code: 'header', message }] })
  }
  const now = new Date()
  const headBytes = Math.min(HEAD_BYTES, first.bytes.length)
  const record: ImportRecord = {
    ...{ _id: randomUUIDv7(), workspace: caller.workspace._id, key, state: 'running', tags },
    shape: { ...begun.shape, format },
    head: { bytes: headBytes, digest: digestOf(first.bytes.subarray(0, headBytes)) },
    ...{ offset: begun.offset, line: begun.line, errorsStored: 0, unreadable: 0 },
    counts: { rows: 0, created: 0, updated: 0, repeated: 0, refused: 0, staysWithdrawn: 0 },
    ...{ owner: randomUUID(), busyUntil: new Date(now.getTime() + BUSY_MS) },
    by: { _id: caller.account._id, username: caller.account.username },
    ...{ createdAt: now, updatedAt: now, deleteAt: new Date(now.getTime() + RETENTION_MS) },
  }
  try {
    await importsOf(connection).insertOne(record)
  } catch (error) {
    if (isDuplicate(error)) throw inFlight()
    throw error
  }
  return { record, blocks: fromOffset(first, blocks, begun.offset) }
}

async function resumeImport(
  connection: Connection,
  asked: AskedImport,
  found: ImportRecord,
  blocks: AsyncIterator<Block>,
): Promise<Begun> {
  const now = new Date()
  const isSame = found.shape.format === asked.format && isDeepStrictEqual(found.tags, asked.tags)
  if (!isSame) throw reused('It was given with another type or other tags.')
  if (found.state === 'cancelled') throw reused('The import was cancelled.')
  if (found.state === 'finished') return { over: found }
  if (found.state === 'running' && (found.busyUntil ?? now) > now) throw inFlight()
  if (asked.offset > found.offset) throw gap(found.offset)
  const first = await nextOf(blocks)
  const { bytes, digest } = found.head
  if (asked.offset === 0 && digestOf(first.bytes.subarray(0, bytes)) !== digest)
    throw reused('The file begins with something else.')
  const record = await importsOf(connection).findOneAndUpdate(
    { _id: found._id, state: found.state, updatedAt: found.updatedAt },
    {
      $set: {
        ...{ state: 'running', owner: randomUUID(), updatedAt: now },
        busyUntil: new Date(now.getTime() + BUSY_MS),
      },
    },
    { returnDocument: 'after' },
  )
  if (record === null) throw inFlight()
  return { record, blocks: fromOffset(first, blocks, record.offset - asked.offset) }
}

async function nextOf(blocks: AsyncIterator<Block>): Promise<Block> {
  const { value, done } = await blocks.next()
  return done ? { bytes: Buffer.alloc(0), isLast: true } : value
}

/** The blocks without so many bytes at their beginning. */
async function* fromOffset(
  first: Block,
  blocks: AsyncIterator<Block>,
  offset: number,
): AsyncGenerator<Block> {
  let left = offset
  for (let block = first; ; block = await nextOf(blocks)) {
    const { bytes, isLast } = block
    if (bytes.length > left || isLast) yield { bytes: bytes.subarray(left), isLast }
    left = Math.max(0, left - bytes.length)
    if (isLast) return
  }
}

const inFlight = () =>
  new Problem('idempotency_in_flight', { detail: 'Another request works this import.', retryAfter: 2 })

const reused = (detail: string) => new Problem('idempotency_key_reused', { detail })

const gap = (offset: number) =>
  new Problem('validation_failed', {
    errors: [
      { path: '/offset', code: 'gap', message: `is beyond ${offset}, up to where the file is settled` },
    ],
    extra: { offset },
  })
