import fc from 'fast-check'
import { resolved } from '../../openapi/read-document.ts'
import {
  naughtyNumber,
  naughtyString,
  naughtyValue,
  storableObject,
  storableString,
} from './naughty-values.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  maxItems?: number
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  format?: string
  pattern?: string
}

const MAX_LEVELS = 6
const MAX_ITEMS = 3
// Nobody answers at any of these, so that no run knocks on a stranger’s door.
const TARGETS = [
  'native:agents/echo',
  'http://127.0.0.1:9/x',
  'http://[::1]:9/',
  'http://nobody.invalid/',
  'urn:x',
]
const TIMES = ['2026-11-20T11:36:37.235Z', '1970-01-01T00:00:00Z', '2026-11-20T11:36:37+02:00']

/** Values that a schema of the document takes, their strings as naughty as it allows. */
export function fromSchema(given: object, level = 0): fc.Arbitrary<unknown> {
  const schema = resolved<Schema>(given)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => fromSchema(one, level)))
  if (level > MAX_LEVELS) return fc.constant(null)
  const types = [schema.type ?? []].flat()
  if (types.length === 0) return naughtyValue
  return fc.oneof(...types.map((type) => ofType(type, schema, level)))
}

function ofType(type: string, schema: Schema, level: number): fc.Arbitrary<unknown> {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema
  switch (type) {
    case 'string':
      return text(schema)
    case 'integer':
      return fc.oneof(
        fc.constantFrom(minimum, maximum),
        fc.integer({
          min: Math.min(Math.max(minimum, -3), maximum),
          max: Math.max(Math.min(maximum, 40), minimum),
        }),
      )
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'array': {
      const items = schema.items === undefined ? naughtyValue : fromSchema(schema.items, level + 1)
      return fc.array(items, { maxLength: Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS) })
    }
    case 'object':
      return members(schema, level)
    default:
      return fc.constant(null)
  }
}

function text({ format, pattern, minLength = 0, maxLength = 4_096 }: Schema): fc.Arbitrary<string> {
  if (format === 'idn-email') return fc.nat().map((n) => `fuzz.${n}+tag@example.com`)
  if (format === 'uri') return fc.constantFrom(...TARGETS)
  if (format === 'date-time') return fc.constantFrom(...TIMES)
  if (pattern !== undefined) return fc.oneof(fc.stringMatching(new RegExp(pattern)), naughtyString)
  return storableString.map((each) => [...each.padEnd(minLength, 'x')].slice(0, maxLength).join(''))
}

function members(schema: Schema, level: number): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const described = Object.entries(properties).map(([name, inner]) => {
    const value = fromSchema(inner, level + 1).map((one): [string, unknown][] => [[name, one]])
    return required.includes(name) ? value : fc.oneof(value, fc.constant<[string, unknown][]>([]))
  })
  const entries = fc.tuple(...described).map((all) => all.flat())
  const more = additionalProperties ? storableObject.map(Object.entries) : fc.constant([])
  return fc.tuple(entries, more).map(([own, further]) => Object.fromEntries([...further, ...own]))
}

type Path = readonly string[]

/** The value with one thing changed in it, anywhere: another type, one more key, one less, a value twice as deep. */
export function almost(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const change = fc.oneof(naughtyValue, naughtyNumber, naughtyString)
  const how = fc.constantFrom('replace', 'remove', 'add', 'wrap')
  const key = fc.constantFrom(
    '_id',
    '__proto__',
    '$set',
    'role',
    'workspace',
    'createdAt',
    'a.b',
    '',
    'toJSON',
  )
  return fc.tuple(value, fc.nat(), how, change, key).map(([whole, at, how, changed, key]) => {
    const paths = pathsIn(whole)
    return changedAt(whole, paths[at % paths.length] ?? [], { how, changed, key })
  })
}

function pathsIn(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...at, key]))]
}

interface Change {
  how: string
  changed: unknown
  key: string
}

function changedAt(value: unknown, [first, ...rest]: Path, change: Change): unknown {
  if (first === undefined) return changedHere(value, change)
  const entries = Object.entries(value as object)
  const remaining =
    rest.length > 0 || change.how !== 'remove' ? entries : entries.filter(([key]) => key !== first)
  const next = remaining.map(([key, inner]): [string, unknown] => [
    key,
    key === first ? changedAt(inner, rest, change) : inner,
  ])
  return Array.isArray(value) ? next.map(([, inner]) => inner) : Object.fromEntries(next)
}

function changedHere(value: unknown, { how, changed, key }: Change): unknown {
  if (how === 'wrap') return [value]
  if (how !== 'add' || typeof value !== 'object' || value === null || Array.isArray(value)) return changed
  return Object.fromEntries([...Object.entries(value), [key, changed]])
}
