import type { Binding } from '@parley/shared/bound-value'
import { argumentSchema, type CheckValue, checkBy } from './argument-schema.ts'
import { bindingsIn, type PlacedBinding, placedIn } from './bindings.ts'
import { type EncodedBody, type Encodings, formBody, multipartBody, textBody } from './encode-body.ts'
import type { FileMarks } from './files.ts'
import { readOnlyNames, withoutReadOnly } from './read-only.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const MULTIPART_TYPE = /^multipart\/form-data\s*(?:;|$)/i
const TEXT_TYPE = /^(?:text\/[\w.+-]+|application\/octet-stream)\s*(?:;|$)/i
/** The first of them that a body may have is the one that is sent. */
const TYPES = [JSON_TYPE, /^\*\/\*$/, FORM_TYPE, MULTIPART_TYPE, TEXT_TYPE]
const OCTETS = /^application\/octet-stream\s*(?:;|$)/i
const ANY_TYPE = '*/*'
const HEADER_VALUE = /^[\t\x20-\x7e]{1,200}$/

/** The body that an operation takes. */
export interface RequestBody {
  required: boolean
  schema: unknown
  check: CheckValue
  /** Of its properties, as far as a request has them. */
  names: Set<string>
  /** The parts of it that configuration sets. */
  bindings: PlacedBinding[]
  /** Without what only responses have. */
  sent(value: unknown): unknown
  /** Throws {@link ArgsError} for what its type can't hold. */
  encode(value: unknown, options?: { bound?: readonly Binding[]; marks?: FileMarks | undefined }): EncodedBody
  /** Its properties that are files, or whether all of it is one. */
  files: ReadonlySet<string> | 'whole'
}

/** Reads what an operation says of its body: JSON, a form, or a text. Throws {@link SpecError}. */
export function readBody(document: SpecDocument, given: unknown): RequestBody {
  const content = memberOf(given, 'content')
  if (!isObject(content)) throw new SpecError('has a request body without content')
  const types = Object.keys(content)
  const type = TYPES.map((one) => types.find((key) => one.test(key))).find((key) => key !== undefined)
  if (type === undefined)
    throw new SpecError('has a request body that is neither JSON, nor a form, nor a text')
  if (!HEADER_VALUE.test(type)) throw new SpecError('has a request body whose type no header can hold')
  const media = content[type]
  const schema = memberOf(media, 'schema') ?? true
  const properties = memberOf(resolved(document, schema), 'properties')
  return {
    required: memberOf(given, 'required') === true,
    schema,
    check: checkBy(argumentSchema(document, schema)),
    names: new Set(isObject(properties) ? Object.keys(properties) : []).difference(
      new Set(readOnlyNames(document, resolved(document, schema))),
    ),
    bindings: placedIn(document, schema, bindingsIn(document, schema)),
    sent: (value) => withoutReadOnly(document, schema, value),
    encode: encoderOf(document, type, { media, properties }),
    files: filesOf(document, type, properties),
  }
}

function encoderOf(
  document: SpecDocument,
  type: string,
  { media, properties }: { media: unknown; properties: unknown },
): RequestBody['encode'] {
  if (TEXT_TYPE.test(type)) return (value, { marks } = {}) => textBody(value, { type, marks })
  const isForm = FORM_TYPE.test(type)
  if (!isForm && !MULTIPART_TYPE.test(type)) {
    const sentType = type === ANY_TYPE ? 'application/json' : type
    return (value) => ({ type: sentType, text: JSON.stringify(value) })
  }
  const encodings = encodingsOf(document, memberOf(media, 'encoding'), properties)
  // A boundary or the like of the spec's own is not the one that is used.
  const [plain = type] = type.split(';')
  const typed = { type: plain.trim(), encodings }
  return (value, options = {}) =>
    isForm ? formBody(value, { ...typed, ...options }) : multipartBody(value, { ...typed, ...options })
}

function encodingsOf(document: SpecDocument, encoding: unknown, properties: unknown): Encodings {
  const names = [encoding, properties].flatMap((one) => (isObject(one) ? Object.keys(one) : []))
  return new Map(
    [...new Set(names)].map((name) => {
      const [style, explode, contentType] = ['style', 'explode', 'contentType'].map((key) =>
        memberOf(memberOf(encoding, name), key),
      )
      return [
        name,
        {
          ...(typeof style === 'string' && { style }),
          ...(typeof explode === 'boolean' && { explode }),
          ...(typeof contentType === 'string' && { contentType }),
          ...(isFile(document, memberOf(properties, name)) && { isFile: true }),
        },
      ]
    }),
  )
}

function filesOf(document: SpecDocument, type: string, properties: unknown): RequestBody['files'] {
  if (OCTETS.test(type)) return 'whole'
  if (!MULTIPART_TYPE.test(type) || !isObject(properties)) return new Set()
  const files = Object.entries(properties).filter(([, one]) => isFile(document, one))
  return new Set(files.map(([name]) => name))
}

/** Bytes, by what 3.0 and 3.1 say of them; a list of files has several. */
function isFile(document: SpecDocument, given: unknown): boolean {
  const schema = resolved(document, given)
  const items = memberOf(schema, 'items')
  if (items !== undefined) return isFile(document, items)
  return memberOf(schema, 'format') === 'binary' || memberOf(schema, 'contentMediaType') !== undefined
}
