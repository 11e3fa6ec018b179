import { isUtf8 } from 'node:buffer'
import { CsvError, parse } from 'csv-parse/sync'
import type { FileShape } from './import-record.ts'
import type { RowMistake } from './read-row.ts'

/** How long one row may be. */
export const MAX_ROW_BYTES = 64 * 1024

/** A row as it stands in a file. */
export interface RawRow {
  /** The line that it begins on. */
  line: number
  cells?: string[]
  json?: Buffer
  mistake?: RowMistake
}

/** Where in a file a row begins. */
export interface FilePosition {
  offset: number
  line: number
  /** The rest of a row is passed over, up to the end of its line. */
  isSkipping: boolean
}

interface SplitBytes {
  rows: RawRow[]
  /** Where the first row begins that is not whole; what is before it is done with. */
  next: FilePosition
  /** The first line that is not UTF-8: nothing is read from there on. */
  notUtf8?: number
}

/**
 * The whole rows at the beginning of bytes. A row that can't be told apart from those after it, because it has a quotation
 * mark that is not closed or is too long, ends with its first line.
 */
export function splitRows(
  bytes: Buffer,
  { shape, at, isLast }: { shape: FileShape; at: FilePosition; isLast: boolean },
): SplitBytes {
  const newline = shape.newline === 'cr' ? 0x0d : 0x0a
  const rows: RawRow[] = []
  let [from, line, isSkipping] = [0, at.line, at.isSkipping]
  const skipLine = () => {
    const end = bytes.indexOf(newline, from)
    isSkipping = end < 0 && !isLast
    from = end < 0 ? bytes.length : end + 1
    line++
  }
  if (isSkipping) {
    const end = bytes.indexOf(newline)
    isSkipping = end < 0 && !isLast
    from = end < 0 ? bytes.length : end + 1
  }
  const split = shape.format === 'csv' ? splitCsv : splitLines
  while (from < bytes.length) {
    const part = split(bytes.subarray(from), { shape, line, newline, isLast })
    const invalid = firstInvalid(bytes.subarray(from, from + part.end), part)
    for (const row of part.rows) if (invalid === undefined || row.line < invalid) rows.push(row)
    from += part.end
    line = part.line
    if (invalid !== undefined)
      return { rows, next: { offset: at.offset + from, line, isSkipping }, notUtf8: invalid }
    if (part.mistake === undefined) break
    rows.push({ line, mistake: part.mistake })
    skipLine()
  }
  return { rows, next: { offset: at.offset + from, line, isSkipping } }
}

interface SplitPart {
  rows: (RawRow & { end: number })[]
  /** Where the next row begins in these bytes, and on which line. */
  end: number
  line: number
  /** Why that row ends nowhere. */
  mistake?: RowMistake
}

interface Splitting {
  shape: FileShape
  line: number
  newline: number
  isLast: boolean
}

function splitCsv(bytes: Buffer, { shape, line: first, newline, isLast }: Splitting): SplitPart {
  const part: SplitPart = { rows: [], end: 0, line: first }
  try {
    parse(bytes, {
      delimiter: shape.separator ?? ',',
      record_delimiter: shape.newline === 'cr' ? ['\r'] : ['\r\n', '\n'],
      ...{ relax_column_count: true, relax_quotes: true, max_record_size: MAX_ROW_BYTES },
      on_record: (cells: string[], context) => {
        const { bytes: end, lines } = context as unknown as { bytes: number; lines: number }
        if (bytes[end - 1] !== newline && !isLast) return null
        if (first + lines - part.line > 1 && isSwallowing(cells, shape)) throw new OpenQuote()
        if (cells.some((cell) => cell !== '')) part.rows.push({ line: part.line, cells, end })
        part.end = end
        part.line = first + lines
        return null
      },
    })
  } catch (error) {
    if (!(error instanceof CsvError || error instanceof OpenQuote)) throw error
    const isUnclosed = error instanceof CsvError && error.code === 'CSV_QUOTE_NOT_CLOSED'
    if (isUnclosed && !isLast && bytes.length - part.end <= MAX_ROW_BYTES) return part
    part.mistake = isUnclosed || error instanceof OpenQuote ? QUOTE_OPEN : TOO_LONG
    return part
  }
  if (bytes.length - part.end > MAX_ROW_BYTES) part.mistake = TOO_LONG
  return part
}

class OpenQuote extends Error {}

/** True if a row of several lines has swallowed others, by an unclosed quotation mark: only texts have line breaks. */
function isSwallowing(cells: readonly string[], { columns = [] }: FileShape): boolean {
  const breaks = (cell: string, at: number) =>
    /[\r\n]/.test(cell.trim()) && columns[at] !== '' && !columns[at]?.startsWith('attributes.')
  return cells.length !== columns.length || cells.some(breaks)
}

function splitLines(bytes: Buffer, { line: first, newline, isLast }: Splitting): SplitPart {
  const part: SplitPart = { rows: [], end: 0, line: first }
  while (part.end < bytes.length) {
    const found = bytes.indexOf(newline, part.end)
    const [to, isWhole] = found < 0 ? [bytes.length, isLast] : [found, true]
    if (to - part.end > MAX_ROW_BYTES) {
      part.mistake = TOO_LONG
      return part
    }
    if (!isWhole) return part
    const json = bytes.subarray(part.end, to)
    if (json.some((byte) => byte > 0x20)) part.rows.push({ line: part.line, json, end: to })
    part.end = Math.min(to + 1, bytes.length)
    part.line++
  }
  return part
}

const QUOTE_OPEN = { path: '', code: 'quote_open', message: 'has a quotation mark that is not closed' }
const TOO_LONG = {
  path: '',
  code: 'row_too_long',
  message: `is longer than ${MAX_ROW_BYTES} bytes, or has a quotation mark that is not closed`,
}

/** The line of the first row that is not UTF-8; of JSON each line is checked by itself. */
function firstInvalid(bytes: Buffer, { rows }: SplitPart): number | undefined {
  if (isUtf8(bytes) || rows[0]?.json !== undefined) return undefined
  let from = 0
  for (const { line, end } of rows) {
    if (!isUtf8(bytes.subarray(from, end))) return line
    from = end
  }
  return undefined
}
