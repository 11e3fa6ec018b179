import { isUtf8 } from 'node:buffer'
import { defined } from '@parley/shared/defined'
import { checkBytes, roundedIn, unstorable } from '@parley/shared/json-body'
import { parseExact } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import { addressText } from '@parley/shared/providers/address'
import { z } from 'zod'
import type { AttributeTypes } from '../attributes/attribute-store.ts'
import { type AttributeValue, attributeErrors, attributeOfText } from '../attributes/attribute-values.ts'
import { newPerson, readAddress } from '../people/person-schema.ts'
import type { ConsentChanges, PersonClaim } from '../people/settle-person.ts'
import { type Consent, PURPOSES, type Purpose } from '../store/person-record.ts'

/** What is wrong with a row, and where in it. */
export interface RowMistake {
  path: string
  code: string
  message: string
}

/** What a row says of a person, or what is wrong with it. */
export type ReadRow = { claim: PersonClaim } | { mistakes: RowMistake[] }

const MAX_TEXT = 1_024
const MAX_MEMBERS = 200
const LISTED = /[;|]/
const TAGS = /[;|,]/
const BY_SPREADSHEET = /^\d(?:[.,]\d+)?E\+\d+$/i
const LONG_INTEGER = /\d{16}/

const status = z.enum(['granted', 'withdrawn', 'unknown'], {
  error: 'is none of granted, withdrawn and unknown',
})
const oneConsent = z.strictObject({
  status,
  text: z.string().max(MAX_TEXT).optional(),
  at: z.unknown().optional(),
  source: z.unknown().optional(),
})
const consents = z.strictObject({ marketing: oneConsent.optional(), service: oneConsent.optional() })

/** A row of CSV, of columns as `columnsOf` names them; an empty cell says nothing. */
export function readCsvRow(
  columns: readonly string[],
  cells: readonly string[],
  types: AttributeTypes,
): ReadRow {
  const isTooLong = cells.slice(columns.length).some((cell) => cell.trim() !== '')
  if (cells.length < columns.length || isTooLong) {
    const message = `has ${cells.length} cells, and the header has ${columns.length}`
    return { mistakes: [{ path: '', code: 'columns', message }] }
  }
  const body: Record<string, unknown> = {}
  const addresses: string[] = []
  const attributes: Record<string, AttributeValue> = {}
  const consent: Partial<Record<Purpose, { status: string; text?: string }>> = {}
  const mistakes: RowMistake[] = []
  let consentText: string | undefined
  for (const [at, column] of columns.entries()) {
    const text = cells[at]?.trim() ?? ''
    if (text === '' || column === '') continue
    const [, attribute] = /^attributes\.(.+)$/.exec(column) ?? []
    const [, purpose] = /^consent\.(.+)$/.exec(column) ?? []
    const type = attribute === undefined ? undefined : types.get(attribute)
    if (column === 'phone') addresses.push(phoneOf(text))
    else if (column === 'addresses') addresses.push(...partsOf(text, LISTED))
    else if (column === 'tags') body.tags = partsOf(text, TAGS)
    else if (column === 'consentText') consentText = text
    else if (purpose !== undefined) consent[purpose as Purpose] = { status: text.toLowerCase() }
    else if (attribute === undefined || type === undefined) body[column] = text
    else {
      const value = attributeOfText(type, text)
      if (value !== undefined) attributes[attribute] = value
      else mistakes.push({ path: `/${column}`, code: 'invalid_attribute', message: `is no ${type}` })
    }
  }
  if (consentText !== undefined) for (const one of Object.values(consent)) one.text = consentText
  const read = readPerson({ ...body, addresses, attributes, consent }, types)
  if (mistakes.length === 0) return read
  return { mistakes: 'mistakes' in read ? [...mistakes, ...read.mistakes] : mistakes }
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
