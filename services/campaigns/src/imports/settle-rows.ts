import { PURPOSES } from '@parley/shared/consent'
import { mapYielding } from '@parley/shared/map-yielding'
import { allows, type Decision } from '@parley/shared/permission/decide'
import type { Connection, mongo } from 'mongoose'
import { z } from 'zod'
import type { AttributeTypes } from '../attributes/attribute-store.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Outcome, upsertPeople } from '../people/people-store.ts'
import type { PersonClaim } from '../people/settle-person.ts'
import {
  type ImportCounts,
  type ImportRecord,
  importsOf,
  RETENTION_MS,
  type RowError,
  rowErrorId,
  rowErrorsOf,
} from './import-record.ts'
import { csvReader, type ReadRow, type RowMistake, readJsonRow } from './read-row.ts'
import type { FilePosition, RawRow } from './split-rows.ts'

/** So many errors of rows are stored of an import; the others are counted. */
export const MAX_ERRORS = 1_000
/** How long a request is taken to be at work after each batch. */
export const BUSY_MS = 60_000
const FOUND_AT_ONCE = 1_000
const NO_BYTES = Buffer.alloc(0)

/** Somebody cancelled the import, or another request works it. */
export class Superseded extends Error {}

/** The dependencies of settling rows. */
export interface Settling extends Pick<Dependencies, 'connection' | 'dispatcher'> {
  /** The decision about which people the caller may write. */
  write: Decision
  types: AttributeTypes
}

/** A row of a batch: what it says of a person, and what is wrong with it. */
export interface ReadBatchRow {
  line: number
  claim?: PersonClaim
  mistakes: readonly RowMistake[]
}

/** Reads what rows say, without what is not granted by a file. It changes nothing. Rejects with `unavailable`. */
export async function readRows(
  needed: Settling,
  { _id: importId, workspace, shape, tags: ofFile }: ImportRecord,
  rows: readonly RawRow[],
): Promise<ReadBatchRow[]> {
  const read = rowReader(shape, needed.types)
  const batch = await mapYielding(rows, (row): ReadBatchRow => {
    const { line } = row
    const one = read(row)
    if ('mistakes' in one) return { line, mistakes: one.mistakes }
    const tags = ofFile.length === 0 ? one.claim.tags : [...new Set([...(one.claim.tags ?? []), ...ofFile])]
    return { line, claim: { ...one.claim, tags, importId }, mistakes: [] }
  })
  await withoutWithdrawn(needed, workspace, batch)
  return batch
}

/**
 * Writes the people of rows, with how far the import is and what is wrong with rows, in one transaction. Returns the import
 * as it is then. Throws {@link Superseded}; rejects with `unavailable`.
 */
export async function settleRows(
  needed: Settling,
  record: ImportRecord,
  { batch, next }: { batch: readonly ReadBatchRow[]; next: FilePosition },
): Promise<ImportRecord> {
  const { connection, dispatcher, write } = needed
  const { workspace } = record
  const claimed = batch.filter((row) => row.claim !== undefined)
  let settled = record
  await upsertPeople({
    ...{ connection, dispatcher, workspace },
    claims: claimed.flatMap(({ claim }) => claim ?? []),
    mayWrite: (before, after) => [...before, after].every((person) => allows(write, person)),
    along: async (session, outcomes) => {
      settled = await writeAlong(connection, session, { record, batch, claimed, outcomes, next })
    },
  })
  return settled
}

function rowReader({ columns = [] }: ImportRecord['shape'], types: AttributeTypes): (row: RawRow) => ReadRow {
  const readCells = csvReader(columns, types)
  return ({ mistake, cells, json = NO_BYTES }) => {
    if (mistake !== undefined) return { mistakes: [mistake] }
    return cells === undefined ? readJsonRow(json, types) : readCells(cells)
  }
}

const found = z.object({
  data: z.array(z.object({ address: z.string(), purpose: z.enum(PURPOSES), status: z.string() })),
})
const STAYS_WITHDRAWN = {
  path: '/consent',
  code: 'stays_withdrawn',
  message: 'was withdrawn, and a file does not grant it again; all else of the row is written',
}

/** Takes what rows say is granted from those that have opted out where sends are, whoever that is known of here. */
async function withoutWithdrawn(
  { dispatcher }: Settling,
  workspace: number,
  batch: readonly ReadBatchRow[],
): Promise<void> {
  const granting = batch.filter(({ claim }) =>
    PURPOSES.some((purpose) => claim?.consent?.[purpose]?.status === 'granted'),
  )
  const addresses = [...new Set(granting.flatMap(({ claim }) => claim?.addresses ?? []))]
  const withdrawn = new Set<string>()
  for (let at = 0; at < addresses.length; at += FOUND_AT_ONCE) {
    const asked = { addresses: addresses.slice(at, at + FOUND_AT_ONCE) }
    const response = await dispatcher.post(`/internal/workspaces/${workspace}/suppressions/find`, asked)
    for (const { address, purpose, status } of found.parse(response).data)
      if (status === 'withdrawn') withdrawn.add(`${purpose} ${address}`)
  }
  for (const row of withdrawn.size === 0 ? [] : granting) {
    const { claim } = row
    if (claim === undefined) continue
    const isWithdrawn = (purpose: string) => claim.addresses.some((one) => withdrawn.has(`${purpose} ${one}`))
    const said = Object.entries(claim.consent ?? {})
    const left = said.filter(([purpose, { status }]) => status === 'withdrawn' || !isWithdrawn(purpose))
    if (left.length === said.length) continue
    row.claim = { ...claim, consent: Object.fromEntries(left) }
    row.mistakes = [...row.mistakes, STAYS_WITHDRAWN]
  }
}

interface Along {
  record: ImportRecord
  batch: readonly ReadBatchRow[]
  /** Those of the batch that an outcome each is of. */
  claimed: readonly ReadBatchRow[]
  outcomes: readonly Outcome[]
  next: FilePosition
}

async function writeAlong(
  connection: Connection,
  session: mongo.ClientSession,
  { record, batch, claimed, outcomes, next }: Along,
): Promise<ImportRecord> {
  const { _id, owner } = record
  const outcomeOf = new Map(claimed.map((row, at) => [row, outcomes[at]]))
  const counts = { ...record.counts }
  const errors: RowError[] = []
  const now = new Date()
  const deleteAt = new Date(now.getTime() + RETENTION_MS)
  for (const row of batch) {
    const { line } = row
    const outcome = outcomeOf.get(row)
    const mistakes = mistakesOf(outcome, row)
    count(counts, outcome, mistakes)
    for (const [number, one] of mistakes.entries())
      if (record.errorsStored + errors.length < MAX_ERRORS)
        errors.push({ _id: rowErrorId(_id, line, number), line, ...one, deleteAt })
  }
  const unreadable = batch.filter(({ mistakes: [one] }) => UNREADABLE.has(one?.code ?? '')).length
  const settled = await importsOf(connection).findOneAndUpdate(
    { _id, state: 'running', ...(owner !== undefined && { owner }), offset: record.offset },
    {
      $set: {
        ...{
          counts,
          offset: next.offset,
          line: next.line,
          isSkipping: next.isSkipping,
          updatedAt: now,
          deleteAt,
        },
        busyUntil: new Date(now.getTime() + BUSY_MS),
        errorsStored: record.errorsStored + errors.length,
        unreadable: record.unreadable + unreadable,
      },
    },
    { session, returnDocument: 'after' },
  )
  if (settled === null) throw new Superseded()
  if (errors.length > 0) await rowErrorsOf(connection).insertMany(errors, { session })
  return settled
}

const UNREADABLE: ReadonlySet<string> = new Set(['quote_open', 'row_too_long'])

function mistakesOf(outcome: Outcome | undefined, { mistakes }: ReadBatchRow): readonly RowMistake[] {
  if (outcome === undefined) return mistakes
  if (outcome.result !== 'refused')
    return outcome.staysWithdrawn && !mistakes.includes(STAYS_WITHDRAWN)
      ? [...mistakes, STAYS_WITHDRAWN]
      : mistakes
  if (outcome.reason === 'forbidden')
    return [
      ...mistakes,
      { path: '', code: 'forbidden', message: 'is of a person whom the role may not write' },
    ]
  return [
    ...mistakes,
    { path: `/${outcome.reason}`, code: 'too_many', message: 'would be too many of one person' },
  ]
}

function count(counts: ImportCounts, outcome: Outcome | undefined, mistakes: readonly RowMistake[]): void {
  counts.rows++
  if (outcome === undefined || outcome.result === 'refused') counts.refused++
  else {
    if (outcome.isRepeated) counts.repeated++
    else if (outcome.result === 'created') counts.created++
    else counts.updated++
    if (mistakes.length > 0) counts.staysWithdrawn++
  }
}
