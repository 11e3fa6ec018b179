import { randomUUID } from 'node:crypto'
import type { Binding } from '@parley/shared/bound-value'
import { isExactNumber } from '@parley/shared/exact-number'
import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { isFalseName } from './bindings.ts'
import type { FileMarks } from './files.ts'
import { ArgsError, isObject } from './spec-document.ts'

/** How the properties of a form are written, by the `encoding` of its media type. */
export type Encodings = ReadonlyMap<string, Encoding>

interface Encoding {
  style?: string
  explode?: boolean
  contentType?: string
  /** A file, of a multipart body. */
  isFile?: boolean
}

/** A body as it goes out, with its type. */
export interface EncodedBody {
  type: string
  text: string
}

const DELIMITERS: Record<string, string> = { spaceDelimited: ' ', pipeDelimited: '|', form: ',' }

/**
 * A body of type `application/x-www-form-urlencoded`. What is nested is named in brackets (`metadata[order]`, `items[0][id]`),
 * and a list of plain values repeats its name, unless its encoding says otherwise. Throws {@link ArgsError}.
 */
export function formBody(value: unknown, { type, encodings, bound = [] }: Typed): EncodedBody {
  const pairs = propertiesOf(value)
    .flatMap(([name, one]) => formPairs(name, one, encodings.get(name)))
    .filter(([name]) => !isFalseName(name, bound))
  return { type, text: pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&') }
}

interface Typed {
  type: string
  encodings: Encodings
  /** The parts of it that configuration sets. */
  bound?: readonly Binding[]
  marks?: FileMarks | undefined
}

/** A body of type `multipart/form-data` with a part for each value: lists of plain ones have several, what is nested is JSON. */
export function multipartBody(value: unknown, { type, encodings, bound = [], marks }: Typed): EncodedBody {
  const boundary = `parley-${randomUUID()}`
  const parts = propertiesOf(value).flatMap(([name, one]) => {
    if (isFalseName(name, bound)) return []
    const all = Array.isArray(one) && one.every(isPlain) ? one : [one]
    return all.map((part) => partOf(name, part, { ...encodings.get(name), marks }))
  })
  const text = [...parts.map((part) => `--${boundary}\r\n${part}\r\n`), `--${boundary}--\r\n`].join('')
  return { type: `${type}; boundary=${boundary}`, text }
}

/** A body that is a text as it is given. Throws {@link ArgsError}. */
export function textBody(value: unknown, { type, marks }: Pick<Typed, 'type' | 'marks'>): EncodedBody {
  const marked = marks?.fileAt(value)
  if (marked !== undefined) return { type, text: `${marked}:bytes:` }
  if (!isPlain(value)) throw new ArgsError('/body', 'is not a text')
  return { type, text: plainText(value) }
}

function propertiesOf(value: unknown): [string, unknown][] {
  if (!isObject(value)) throw new ArgsError('/body', 'is no object, and so makes no form')
  return Object.entries(value)
}

/** In the sequence of the object, not encoded yet. */
function formPairs(
  name: string,
  value: unknown,
  { style, explode = style === undefined || style === 'form', contentType }: Encoding = {},
): [string, string][] {
  if (contentType !== undefined && /json/i.test(contentType)) return [[name, jsonText(value)]]
  if (isPlain(value)) return [[name, plainText(value)]]
  const delimiter = style === undefined ? undefined : DELIMITERS[style]
  if (Array.isArray(value) && value.every(isPlain)) {
    if (!explode && style !== 'deepObject') return [[name, value.map(plainText).join(delimiter ?? ',')]]
    if (style !== 'deepObject') return value.map((one) => [name, plainText(one)])
  }
  return nestedPairs(name, value)
}

/** Each plain value in it, named by its place: `a[b][0]`. */
function nestedPairs(name: string, value: unknown): [string, string][] {
  if (isPlain(value)) return [[name, plainText(value)]]
  return Object.entries(value as object).flatMap(([key, one]) => nestedPairs(`${name}[${key}]`, one))
}

function partOf(
  name: string,
  value: unknown,
  { contentType, isFile = false, marks }: Encoding & Pick<Typed, 'marks'>,
): string {
  const marked = marks?.fileAt(value, contentType)
  if (marked !== undefined) {
    const named = `name="${partName(name)}"; filename="${marked}:name:"`
    return `Content-Disposition: form-data; ${named}\r\nContent-Type: ${marked}:type:\r\n\r\n${marked}:bytes:`
  }
  const type = contentType ?? (isPlain(value) ? (isFile ? 'application/octet-stream' : undefined) : JSON_TYPE)
  const file = isFile ? `; filename="${partName(name)}"` : ''
  const lines = [
    `Content-Disposition: form-data; name="${partName(name)}"${file}`,
    ...(type === undefined ? [] : [`Content-Type: ${headerSafe(type, name)}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${isPlain(value) ? plainText(value) : jsonText(value)}`
}

const JSON_TYPE = 'application/json'
const HEADER_VALUE = /^[\t\x20-\x7e]*$/

/** As browsers write names: what would end the header is encoded. */
const partName = (name: string): string =>
  name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

function headerSafe(type: string, name: string): string {
  // Several may be listed of which one is to be chosen.
  const [first = ''] = type.split(',')
  if (HEADER_VALUE.test(first)) return first.trim()
  throw new ArgsError(`/${pointerSegment(name)}`, 'has a content type that no header can hold')
}

type Plain = string | number | boolean | null

const isPlain = (value: unknown): value is Plain =>
  typeof value !== 'object' || value === null || isExactNumber(value)

const plainText = (value: unknown): string =>
  isExactNumber(value) ? value.rawJSON : value === null ? '' : String(value)

const jsonText = (value: unknown): string => JSON.stringify(value as JsonObject)
