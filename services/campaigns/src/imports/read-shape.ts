import { isUtf8 } from 'node:buffer'
import type { FieldError } from '@parley/shared/problem'
import { Problem } from '@parley/shared/problem'
import { parse } from 'csv-parse/sync'
import type { AttributeTypes } from '../attributes/attribute-store.ts'
import type { FileShape, ImportFormat } from './import-record.ts'
import { MAX_ROW_BYTES } from './split-rows.ts'

const OWN_COLUMNS = [
  ...['phone', 'addresses', 'name', 'language', 'timeZone', 'tags'],
  ...['consent.marketing', 'consent.service', 'consentText'],
] as const
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['address', 'addresses'],
  ['consent', 'consent.marketing'],
])
const MAX_COLUMNS = 200
const SEPARATORS = [',', ';', '\t'] as const
const UTF8_BOM = Buffer.from([0xef, 0xbb, 0xbf])
const UTF16_BOMS = [Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])]
const ZIP = Buffer.from('PK\x03\x04')
const [LF, CR, QUOTE, NUL] = [0x0a, 0x0d, 0x22, 0]

interface Begun {
  shape: FileShape
  /** Where its first row begins, and on which line. */
  offset: number
  line: number
}

/**
 * How the rows of a file are written, by its first bytes; undefined where there are not enough of them. Throws
 * `validation_failed`.
 */
export function readShape(
  bytes: Buffer,
  options: { format: ImportFormat; types: AttributeTypes; ignoresColumns: boolean; isWhole: boolean },
): Begun | undefined {
  const { format, isWhole } = options
  if (bytes.length < ZIP.length && !isWhole) return undefined
  requireText(bytes)
  const from = startsWith(bytes, UTF8_BOM) ? UTF8_BOM.length : 0
  if (bytes.length === from) throw refusal({ path: '', code: 'empty', message: 'is empty' })
  if (format === 'ndjson') return { shape: { format }, offset: from, line: 1 }
  const end = endOfHeader(bytes, { from, isWhole })
  if (end === undefined) {
    if (bytes.length > MAX_ROW_BYTES)
      throw refusal({ path: '/line/1', code: 'row_too_long', message: 'is no header: it does not end' })
    return undefined
  }
  const header = bytes.subarray(from, end.text)
  if (!isUtf8(header)) throw refusal({ path: '/line/1', code: 'not_utf8', message: NOT_UTF8 })
  const text = header.toString()
  const separator = separatorOf(text)
  const headings = headingsOf(text, separator)
  const lines = 1 + (text.match(/\n/g)?.length ?? 0)
  return {
    shape: { format, separator, newline: end.newline, columns: columnsOf(headings, options) },
    ...{ offset: end.next, line: 1 + lines },
  }
}

/** The error of a file, or of a part of one, that is not UTF-8. */
export const NOT_UTF8 = 'is not UTF-8: save the file as “CSV UTF-8”'

const refusal = (...errors: FieldError[]) => new Problem('validation_failed', { errors })

const startsWith = (bytes: Buffer, beginning: Buffer): boolean =>
  bytes.subarray(0, beginning.length).equals(beginning)

function requireText(bytes: Buffer): void {
  if (startsWith(bytes, ZIP)) {
    const message = 'is a workbook or another archive: save it as “CSV UTF-8”'
    throw refusal({ path: '', code: 'not_text', message })
  }
  const isUtf16 = UTF16_BOMS.some((bom) => startsWith(bytes, bom)) || bytes.subarray(0, 1_024).includes(NUL)
  if (isUtf16) {
    const message = 'is UTF-16, or no text at all: save it as “CSV UTF-8”'
    throw refusal({ path: '', code: 'not_utf8', message })
  }
}

/** Where the header ends and the first row begins; a line break in quotes is none. */
function endOfHeader(bytes: Buffer, { from, isWhole }: { from: number; isWhole: boolean }) {
  let isQuoted = false
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) isQuoted = !isQuoted
    if (isQuoted) continue
    if (byte === LF) return { text: at, next: at + 1, newline: 'lf' as const }
    if (byte !== CR) continue
    if (at + 1 === bytes.length && !isWhole) return undefined
    if (bytes[at + 1] === LF) return { text: at, next: at + 2, newline: 'lf' as const }
    return { text: at, next: at + 1, newline: 'cr' as const }
  }
  return isWhole ? { text: bytes.length, next: bytes.length, newline: 'lf' as const } : undefined
}

function separatorOf(header: string): string {
  const unquoted = header.replaceAll(/"[^"]*"/g, '')
  const counts = SEPARATORS.map((one) => unquoted.split(one).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

function headingsOf(header: string, delimiter: string): string[] {
  try {
    const [headings = []] = parse(header, { delimiter, relax_quotes: true }) as string[][]
    return headings.map((heading) => heading.trim())
  } catch {
    throw refusal({ path: '/line/1', code: 'quote_open', message: 'has a quotation mark that is not closed' })
  }
}

/** Returns the column that each heading names, without regard to case; empty for a heading that is ignored. */
function columnsOf(
  headings: readonly string[],
  { types, ignoresColumns }: { types: AttributeTypes; ignoresColumns: boolean },
): string[] {
  const known = new Map<string, string>(ALIASES)
  for (const name of types.keys()) {
    known.set(name.toLowerCase(), `attributes.${name}`)
    known.set(`attributes.${name}`.toLowerCase(), `attributes.${name}`)
  }
  for (const name of OWN_COLUMNS) known.set(name.toLowerCase(), name)
  const errors: FieldError[] = []
  const columns = headings.map((heading, at) => {
    const path = `/columns/${at}`
    const column = known.get(heading.toLowerCase()) ?? ''
    const isRepeated =
      column !== '' && headings.some((other, i) => i < at && known.get(other.toLowerCase()) === column)
    if (isRepeated) errors.push({ path, code: 'repeated', message: 'is there twice' })
    else if (column === '' && heading !== '' && !ignoresColumns)
      errors.push({
        path,
        code: 'unknown_column',
        message: 'is no field of a person and no attribute: declare it, or ignore it by ignoreColumns=true',
      })
    return column
  })
  if (headings.length > MAX_COLUMNS)
    errors.push({ path: '/columns', code: 'too_many', message: `are more than ${MAX_COLUMNS}` })
  if (!columns.some((column) => column === 'phone' || column === 'addresses'))
    errors.push({ path: '/columns', code: 'no_address', message: 'have neither phone nor addresses' })
  if (errors.length > 0) throw refusal(...errors)
  return columns
}
