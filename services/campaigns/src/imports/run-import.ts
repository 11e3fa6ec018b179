import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { Problem } from '@parley/shared/problem'
import { type ImportRecord, importsOf, RETENTION_MS } from './import-record.ts'
import { NOT_UTF8 } from './read-shape.ts'
import { type ReadBatchRow, readRows, type Settling, Superseded, settleRows } from './settle-rows.ts'
import { type FilePosition, splitRows } from './split-rows.ts'

/** Bytes that are read before they are settled. */
const BLOCK_BYTES = 128 * 1024
/** A file with more of such rows is not what it says it is. */
const MAX_UNREADABLE = 100

/** The bytes of a file, a block at a time, and which is the last. Throws `body_too_large`. */
export async function* blocksOf(
  body: Pick<Readable, 'iterator'>,
  { most }: { most: number },
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }> {
  let waiting: Buffer[] = []
  let length = 0
  let total = 0
  // The rest of a body that is not read goes without harm; the connection has to stay for the response.
  const chunks = { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) }
  for await (const chunk of chunks as AsyncIterable<Buffer>) {
    total += chunk.length
    if (total > most) throw new Problem('body_too_large')
    waiting.push(chunk)
    length += chunk.length
    if (length < BLOCK_BYTES) continue
    yield { bytes: Buffer.concat(waiting), isLast: false }
    waiting = []
    length = 0
  }
  yield { bytes: Buffer.concat(waiting), isLast: true }
}

interface Running extends Settling {
  record: ImportRecord
  /** The bytes from the place that the import has reached. */
  blocks: AsyncIterable<{ bytes: Buffer; isLast: boolean }>
  /** More of the file comes with another request: its last row may not be whole. */
  hasMore: boolean
}

/**
 * Settles the rows of what comes, and returns the import as it is then. While rows are written the next ones are read.
 * Throws `Superseded`; rejects with `unavailable`, and where the body breaks off.
 */
export async function runImport({ record, blocks, hasMore, ...needed }: Running): Promise<ImportRecord> {
  let at: FilePosition = { offset: record.offset, line: record.line, isSkipping: record.isSkipping ?? false }
  let rest: Buffer = Buffer.alloc(0)
  let settling: Promise<ImportRecord> = Promise.resolve(record)
  try {
    for await (const { bytes, isLast } of blocks) {
      const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
      const part = splitRows(all, { shape: record.shape, at, isLast: isLast && !hasMore })
      rest = all.subarray(part.next.offset - at.offset)
      at = part.next
      // Read while those before are written.
      const batch = await readRows(needed, record, part.rows)
      settling = settleNext(needed, await settling, { batch, next: at })
      settling.catch(() => undefined)
      if (part.notUtf8 !== undefined)
        throw new UnreadableFile(await settling, { line: part.notUtf8, code: 'not_utf8', message: NOT_UTF8 })
      // Others are served between two blocks, however fast a file comes.
      await setImmediate()
    }
  } catch (error) {
    await settling
    throw error
  }
  const settled = await settling
  const ended = await endImport(needed, settled, { state: hasMore ? 'open' : 'finished' })
  if (ended === undefined) throw new Superseded()
  return ended
}

async function settleNext(
  needed: Settling,
  record: ImportRecord,
  { batch, next }: { batch: readonly ReadBatchRow[]; next: FilePosition },
): Promise<ImportRecord> {
  const settled = await settleRows(needed, record, { batch, next })
  if (settled.unreadable <= MAX_UNREADABLE) return settled
  const message = `more than ${MAX_UNREADABLE} rows are too long, or have a quotation mark that is not closed`
  throw new UnreadableFile(settled, { line: next.line, code: 'unreadable', message })
}

/** Nothing more is read of a file. */
export class UnreadableFile extends Error {
  readonly record: ImportRecord
  readonly failure: NonNullable<ImportRecord['failure']>

  constructor(record: ImportRecord, failure: NonNullable<ImportRecord['failure']>) {
    super(failure.message)
    this.record = record
    this.failure = failure
  }
}

/** Ends the work of a request on an import; it stays as it is where that is not this request's any more. */
export async function endImport(
  { connection }: Pick<Settling, 'connection'>,
  { _id, owner }: Pick<ImportRecord, '_id' | 'owner'>,
  end: Pick<ImportRecord, 'state' | 'failure'>,
): Promise<ImportRecord | undefined> {
  const now = new Date()
  const ended = await importsOf(connection).findOneAndUpdate(
    { _id, state: 'running', ...(owner !== undefined && { owner }) },
    {
      $set: { ...end, updatedAt: now, deleteAt: new Date(now.getTime() + RETENTION_MS) },
      $unset: { owner: '', busyUntil: '', ...(end.failure === undefined && { failure: '' }) },
    },
    { returnDocument: 'after' },
  )
  return ended ?? undefined
}

/** The digest of the beginning of a file. */
export const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64url')
