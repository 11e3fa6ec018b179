import type { Connection, mongo } from 'mongoose'

/** Forms that a file may have. */
export type ImportFormat = 'csv' | 'ndjson'

/** The results of the rows of a file, each row counted once. */
export interface ImportCounts {
  rows: number
  /** Made somebody. */
  created: number
  /** Found somebody who was there. */
  updated: number
  /** Were about somebody whom an earlier row was about; what they say is written as well. */
  repeated: number
  /** Are wrong, and changed nothing. */
  refused: number
  /** Of the others: said that somebody granted what they have withdrawn, which stays. */
  staysWithdrawn: number
}

/** How the rows of a file are written, as its beginning shows. */
export interface FileShape {
  format: ImportFormat
  /** Of CSV: what separates its columns and its rows, and what each column is; empty for one that is ignored. */
  separator?: string
  newline?: 'lf' | 'cr'
  columns?: string[]
}

/** A file of people, and how far it is. */
export interface ImportRecord {
  _id: string
  workspace: number
  /** The idempotency key under which it goes on. */
  key: string
  /** `open`: what came is settled up to `offset`, and the rest is still to come. */
  state: 'running' | 'open' | 'finished' | 'failed' | 'cancelled'
  shape: FileShape
  tags: string[]
  /** The beginning of the file, by which another one is noticed under the same key. */
  head: { bytes: number; digest: string }
  /** Where the first row begins that is not settled, and on which line. */
  offset: number
  line: number
  /** That is in a row which is passed over. */
  isSkipping?: boolean
  counts: ImportCounts
  /** How many errors of rows are stored; there may be more. */
  errorsStored: number
  /** Rows that could not be told apart from the next ones by their quotes. */
  unreadable: number
  /** Why it failed. */
  failure?: { line: number; code: string; message: string }
  /** The request that works it, and until when it is taken to. */
  owner?: string
  busyUntil?: Date
  by: { _id: number; username: string }
  createdAt: Date
  updatedAt: Date
  /** When this record goes, with its errors. */
  deleteAt: Date
}

/** The error of one row; it contains nothing of the row's content. */
export interface RowError {
  /** Import, line and number: they are listed by it. */
  _id: string
  line: number
  path: string
  code: string
  message: string
  deleteAt: Date
}

/** How long an import is shown after its last change. */
export const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000

export const importsOf = (connection: Connection): mongo.Collection<ImportRecord> =>
  connection.collection('imports') as unknown as mongo.Collection<ImportRecord>

export const rowErrorsOf = (connection: Connection): mongo.Collection<RowError> =>
  connection.collection('importErrors') as unknown as mongo.Collection<RowError>

const LINE_DIGITS = 12

/** The id of a row's error, which sorts by its line. */
export const rowErrorId = (importId: string, line: number, number = 0): string =>
  `${importId}/${String(line).padStart(LINE_DIGITS, '0')}/${String(number).padStart(3, '0')}`

/** The indexes of each of the collections. */
export const IMPORT_INDEXES: Record<string, mongo.IndexDescription[]> = {
  imports: [
    { key: { workspace: 1, key: 1 }, unique: true },
    { key: { workspace: 1, _id: -1 } },
    { key: { deleteAt: 1 }, expireAfterSeconds: 0 },
  ],
  importErrors: [{ key: { deleteAt: 1 }, expireAfterSeconds: 0 }],
}
