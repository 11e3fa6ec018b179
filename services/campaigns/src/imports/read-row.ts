import { isUtf8 } from 'node:buffer'
import { defined } from '@parley/shared/defined'
import { checkBytes, roundedIn, unstorable } from '@parley/shared/json-body'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { addressText } from '@parley/shared/providers/address'
import { z } from 'zod'
import type { AttributeTypes } from '../attributes/attribute-store.ts'
import { type AttributeValue, attributeErrors, attributeOfText } from '../attributes/attribute-values.ts'
import {
  addressOf,
  MAX_ADDRESSES,
  MAX_NAME,
  MAX_TAGS,
  newPerson,
  readAddress,
  readLanguage,
  readTag,
  readTimeZone,
} from '../people/person-schema.ts'
import type { ConsentChanges, PersonClaim } from '../people/settle-person.ts'
import { type Consent, PURPOSES, type Purpose } from '../store/person-record.ts'

/** An error in a row, and its place there. */
export interface RowMistake {
  path: string
  code: string
  message: string
}

/** The person that a row claims, or the errors in it. */
export type ReadRow = { claim: PersonClaim } | { mistakes: RowMistake[] }

const MAX_TEXT = 1_024
const MAX_MEMBERS = 200
const LISTED = /[;|]/
const TAGS = /[;|,]/
const BY_SPREADSHEET = /^\d(?:[.,]\d+)?E\+\d+$/i
const LONG_INTEGER = /\d{16}/

const STATUS = ['granted', 'withdrawn', 'unknown'] as const
const STATUSES: ReadonlySet<string> = new Set(STATUS)
const status = z.enum(STATUS, { error: 'is none of granted, withdrawn and unknown' })
const oneConsent = z.strictObject({
  status,
  text: z.string().max(MAX_TEXT).optional(),
  at: z.unknown().optional(),
  source: z.unknown().optional(),
})
const consents = z.strictObject({ marketing: oneConsent.optional(), service: oneConsent.optional() })

/**
 * Reads rows of CSV, of columns as `columnsOf` names them; an empty cell says nothing. What is plainly right is read at once,
 * all else as a posted person is.
 */
export function csvReader(
  columns: readonly string[],
  types: AttributeTypes,
): (cells: readonly string[]) => ReadRow {
  const kinds = columns.map((column) => columnOf(column, types))
  return (cells) => {
    const isTooLong =
      cells.length > columns.length && cells.slice(columns.length).some((cell) => cell.trim() !== '')
    if (cells.length < columns.length || isTooLong) {
      const message = `has ${cells.length} cells, and the header has ${columns.length}`
      return { mistakes: [{ path: '', code: 'columns', message }] }
    }
    const row: CsvRow = { body: {}, addresses: [], attributes: {}, consent: {}, mistakes: [] }
    let at = 0
    for (const read of kinds) {
      const text = (cells[at++] ?? '').trim()
      if (text !== '') read?.(row, text)
    }
    const { body, addresses, attributes, consent, mistakes } = row
    if (row.consentText !== undefined) for (const one of Object.values(consent)) one.text = row.consentText
    const plain = mistakes.length === 0 ? plainClaim(row) : undefined
    if (plain !== undefined) return { claim: plain }
    const read = readPerson({ ...body, addresses, attributes, consent }, types)
    if (mistakes.length === 0) return read
    return { mistakes: 'mistakes' in read ? [...mistakes, ...read.mistakes] : mistakes }
  }
}

/** The cells of a row, as a body that is posted; an attribute has the type of its column. */
interface CsvRow {
  body: { name?: string; language?: string; timeZone?: string; tags?: string[] }
  addresses: string[]
  attributes: Record<string, AttributeValue>
  consent: Partial<Record<Purpose, { status: string; text?: string }>>
  consentText?: string
  mistakes: RowMistake[]
}

/** Puts what a cell of a column says into its row; undefined for a column that is ignored. */
function columnOf(column: string, types: AttributeTypes): ((row: CsvRow, text: string) => void) | undefined {
  const [, attribute] = /^attributes\.(.+)$/.exec(column) ?? []
  const [, purpose] = /^consent\.(.+)$/.exec(column) ?? []
  const type = attribute === undefined ? undefined : types.get(attribute)
  if (column === '') return undefined
  if (column === 'phone') return ({ addresses }, text) => void addresses.push(phoneOf(text))
  if (column === 'addresses') return ({ addresses }, text) => void addresses.push(...partsOf(text, LISTED))
  if (column === 'tags')
    return ({ body }, text) => {
      body.tags = partsOf(text, TAGS)
    }
  if (column === 'consentText')
    return (row, text) => {
      row.consentText = text
    }
  if (purpose !== undefined)
    return ({ consent }, text) => {
      consent[purpose as Purpose] = { status: text.toLowerCase() }
    }
  if (attribute === undefined || type === undefined)
    return ({ body }, text) => {
      body[column as 'name'] = text
    }
  return ({ attributes, mistakes }, text) => {
    const value = attributeOfText(type, text)
    if (value !== undefined) attributes[attribute] = value
    else mistakes.push({ path: `/${column}`, code: 'invalid_attribute', message: `is no ${type}` })
  }
}

/** The claim of a row in which nothing is wrong, as {@link readPerson} reads it; undefined where anything may be. */
function plainClaim({ body, addresses, attributes, consent }: CsvRow): PersonClaim | undefined {
  const { name, tags = [] } = body
  const language = body.language && readLanguage(body.language)
  const timeZone = body.timeZone && readTimeZone(body.timeZone)
  const isRead =
    (language !== undefined) === (body.language !== undefined) &&
    (timeZone !== undefined) === (body.timeZone !== undefined)
  if (!isRead || addresses.length === 0 || addresses.length > MAX_ADDRESSES || tags.length > MAX_TAGS)
    return undefined
  if (name !== undefined && name.length > MAX_NAME) return undefined
  const ownAddresses = allOf(addresses, addressOf)
  const ownTags = allOf(tags, readTag)
  if (ownAddresses === undefined || ownTags === undefined) return undefined
  for (const one of Object.values(consent))
    if (!STATUSES.has(one.status) || (one.text?.length ?? 0) > MAX_TEXT) return undefined
  return {
    ...{ addresses: ownAddresses, name, language, timeZone, attributes },
    ...(body.tags !== undefined && { tags: ownTags }),
    consent: consentOf(consent as z.output<typeof consents>),
  }
}

/** Returns the result of `read` for each text, each result once; undefined where it has none for one of them. */
function allOf(texts: readonly string[], read: (text: string) => string | undefined): string[] | undefined {
  const all: string[] = []
  for (const text of texts) {
    const one = read(text)
    if (one === undefined) return undefined
    if (!all.includes(one)) all.push(one)
  }
  return all
}

/** A line of NDJSON: a person as they are posted, or as they are read. */
export function readJsonRow(line: Buffer, types: AttributeTypes): ReadRow {
  if (!isUtf8(line)) return mistake('not_utf8', 'is not UTF-8')
  try {
    checkBytes(line, MAX_MEMBERS)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return mistake(error.code, 'nests too deep, or has too many members')
  }
  const text = line.toString()
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return mistake('malformed_json', 'is not well-formed JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return mistake('not_an_object', 'is no JSON object')
  const errors = [...unstorable(value), ...(LONG_INTEGER.test(text) ? roundedIn(parseExact(text)) : [])]
  if (errors.length > 0) return { mistakes: errors }
  return readPerson(value as Record<string, unknown>, types)
}

function readPerson({ consent, ...given }: Record<string, unknown>, types: AttributeTypes): ReadRow {
  const person = newPerson.safeParse(given)
  const said = consents.safeParse(consent ?? {})
  const issues = [
    ...(person.error?.issues ?? []).map((issue) => ({ ...issue, at: issue.path })),
    ...(said.error?.issues ?? []).map((issue) => ({ ...issue, at: ['consent', ...issue.path] })),
  ]
  const { data } = person
  if (data === undefined || said.data === undefined)
    return {
      mistakes: issues.map(({ at, code, message }) => ({
        path: at.map((part) => `/${String(part)}`).join(''),
        ...{ code, message: spreadsheetHint(given, at) ?? message },
      })),
    }
  const wrong = data.attributes ? attributeErrors(types, data.attributes) : []
  if (wrong.length > 0) return { mistakes: wrong }
  return {
    claim: {
      addresses: data.addresses,
      ...defined({
        name: data.name ?? undefined,
        language: data.language ?? undefined,
        timeZone: data.timeZone ?? undefined,
        attributes: (data.attributes ?? undefined) as Record<string, AttributeValue> | undefined,
        tags: data.tags ?? undefined,
        consent: consentOf(said.data),
      }),
    },
  }
}

function consentOf(said: z.output<typeof consents>): ConsentChanges | undefined {
  const at = new Date()
  const changes = PURPOSES.flatMap((purpose): [Purpose, Consent][] => {
    const { status, text } = said[purpose] ?? { status: 'unknown' as const }
    if (status === 'unknown') return []
    return [[purpose, { status, at, source: 'import', ...defined({ text }) }]]
  })
  return changes.length === 0 ? undefined : Object.fromEntries(changes)
}

const mistake = (code: string, message: string): ReadRow => ({ mistakes: [{ path: '', code, message }] })

/** A column of numbers has numbers, whatever else they could be. */
function phoneOf(text: string): string {
  const address = readAddress(text)
  return address?.kind === 'phone' ? addressText(address) : `phone:${text}`
}

const partsOf = (text: string, separators: RegExp): string[] =>
  text
    .split(separators)
    .map((part) => part.trim())
    .filter((part) => part !== '')

function spreadsheetHint({ addresses }: Record<string, unknown>, path: PropertyKey[]): string | undefined {
  if (path[0] !== 'addresses' || !Array.isArray(addresses)) return undefined
  const given = String(addresses[Number(path[1])] ?? '').replace('phone:', '')
  return BY_SPREADSHEET.test(given) ? 'was rounded by a spreadsheet: format its column as text' : undefined
}
