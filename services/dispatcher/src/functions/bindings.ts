import {
  type Binding,
  BOUND_VALUE,
  type BoundValue,
  boundTo,
  type CallContext,
  reasonNotToBind,
} from '@parley/shared/bound-value'
import { exactNumber } from '@parley/shared/exact-number'
import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { LISTS, MAPS, SCHEMAS } from './exact-schema.ts'
import { partsOf } from './read-only.ts'
import {
  ArgsError,
  hasBinding,
  isObject,
  memberOf,
  pointedAt,
  type SpecDocument,
  SpecError,
} from './spec-document.ts'

const MAX_SCHEMAS = 20_000
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
/** Where each item of a list is meant. */
const ITEMS = '*'
/** Schemas of which it is not known which values they are of. */
const ELSEWHERE = [...SCHEMAS, ...MAPS, 'prefixItems'].filter(
  (key) => key !== 'items' && key !== 'properties',
)

/** A call lacks a value that configuration binds; nothing may be sent. */
export class UnboundError extends Error {}

/** A binding in a schema: what it says of the object at each level, and of the value. */
export interface PlacedBinding extends Binding {
  /** The declared properties of the object at each level of the path. */
  declared: readonly string[][]
  /** The types of the value, as far as its schema says them. */
  types: readonly unknown[]
}

/**
 * What a schema binds by itself ({@link BOUND_VALUE}), by the places in a value. Throws {@link SpecError} for what can't be
 * bound, also where it is not known which value it would be.
 */
export function bindingsIn(document: SpecDocument, schema: unknown): Binding[] {
  if (document.hasBindings !== true) return []
  const found: Binding[] = []
  let left = MAX_SCHEMAS
  const visit = (given: unknown, path: readonly string[], above: readonly string[]): void => {
    if (--left < 0) throw new SpecError('has too many schemas')
    if (!isObject(given)) return
    const own = boundValueOf(given)
    if (own !== undefined) found.push({ path, value: own })
    const reference = memberOf(given, '$ref')
    if (typeof reference === 'string') {
      const target = pointedAt(document.root, reference)
      if (!above.includes(reference)) visit(target, path, [...above, reference])
      else if (binds(target)) throw new SpecError('binds a value in a schema that comes back to itself')
    }
    const properties = memberOf(given, 'properties')
    if (isObject(properties))
      for (const [name, one] of Object.entries(properties)) visit(one, [...path, name], above)
    visit(memberOf(given, 'items'), [...path, ITEMS], above)
    for (const list of LISTS.filter((key) => key !== 'prefixItems').map((key) => memberOf(given, key)))
      if (Array.isArray(list)) for (const one of list) visit(one, path, above)
    if (ELSEWHERE.some((key) => binds(memberOf(given, key))))
      throw new SpecError(`has ${BOUND_VALUE} where no value can be bound`)
  }
  const binds = (given: unknown): boolean =>
    hasBinding(given, (reference) => pointedAt(document.root, reference))
  visit(schema, [], [])
  return found
}

/** Returns the value that something is bound to. Throws {@link SpecError}. */
export function boundValueOf(given: unknown): BoundValue | undefined {
  if (!Object.hasOwn(Object(given), BOUND_VALUE)) return undefined
  const value = memberOf(given, BOUND_VALUE)
  const reason = reasonNotToBind(value)
  if (reason !== undefined) throw new SpecError(`binds a value to what it can't be: ${reason}`)
  return value as BoundValue
}

/** The bindings with what a schema says of their places. Of several of one place the last counts. */
export function placedIn(
  document: SpecDocument,
  schema: unknown,
  bindings: readonly Binding[],
): PlacedBinding[] {
  const placed = bindings.map(({ path, value }): PlacedBinding => {
    const declared: string[][] = []
    let parts = partsOf(document, schema)
    for (const key of path) {
      const inner = key === ITEMS ? parts.map((part) => memberOf(part, 'items')) : propertiesNamed(parts, key)
      declared.push(parts.flatMap((part) => Object.keys(Object(memberOf(part, 'properties')))))
      parts = inner.flatMap((one) => partsOf(document, one))
    }
    return { path, value, declared, types: parts.flatMap((part) => [memberOf(part, 'type')].flat()) }
  })
  return [...new Map(placed.map((one) => [JSON.stringify(one.path), one])).values()]
}

const propertiesNamed = (parts: readonly unknown[], key: string): unknown[] =>
  parts.map((part) => memberOf(memberOf(part, 'properties'), key))

export const pointerOf = ({ path }: Binding): string => path.map((key) => `/${pointerSegment(key)}`).join('')

/** True if the whole value is bound. */
export const isWhole = (bindings: readonly Binding[]): boolean =>
  bindings.some(({ path }) => path.length === 0)

/** A schema for a model, which does not see what is bound. */
export function withoutBound(schema: JsonObject, bindings: readonly Binding[]): JsonObject {
  return bindings.reduce((made, { path }) => without(made, path), schema)
}

function without(schema: unknown, path: readonly string[]): JsonObject {
  if (!isObject(schema)) return schema as JsonObject
  const [key = '', ...rest] = path
  const made: JsonObject = { ...schema }
  for (const list of LISTS)
    if (Array.isArray(made[list])) made[list] = made[list].map((one) => without(one, path))
  if (key === ITEMS) {
    if (made.items !== undefined) made.items = without(made.items, rest)
    return made
  }
  const { properties, required } = schema
  if (isObject(properties) && Object.hasOwn(properties, key)) {
    const others = Object.entries(properties).filter(([name]) => name !== key)
    const inner = rest.length === 0 ? [] : [[key, without(properties[key], rest)]]
    made.properties = Object.fromEntries([...others, ...inner])
  }
  if (Array.isArray(required)) made.required = required.filter((name) => name !== key)
  return made
}

/**
 * A value with what is bound in its place, whatever was there; names that a server may take for the same are left out
 * unless the schema has them. Throws {@link UnboundError} for a variable that stands for nothing, and
 * {@link ArgsError} where a value can't hold what is bound.
 */
export function withBound(
  value: unknown,
  bindings: readonly PlacedBinding[],
  { context, at }: { context: CallContext; at: string },
): unknown {
  return bindings.reduce((made, binding) => {
    const found = boundTo(binding.value, context)
    if ('missing' in found)
      throw new UnboundError(
        `${at}${pointerOf(binding)} is set to {{${found.missing}}}, which this message does not say`,
      )
    return put(made, { binding, bound: asType(found.value, binding.types), level: 0, at })
  }, value)
}

interface Put {
  binding: PlacedBinding
  bound: unknown
  level: number
  at: string
}

function put(value: unknown, { binding, bound, level, at }: Put): unknown {
  const { path, declared } = binding
  const key = path[level]
  if (key === undefined) return bound
  const deeper = (inner: unknown, name: string | number) =>
    put(inner, { binding, bound, level: level + 1, at: `${at}/${pointerSegment(String(name))}` })
  if (key === ITEMS) {
    if (value === undefined) return undefined
    if (Array.isArray(value)) return value.map(deeper)
    throw new ArgsError(at, 'is no list')
  }
  if (value !== undefined && !isObject(value)) throw new ArgsError(at, 'is no object')
  const own = new Set(declared[level])
  const others = Object.entries(value ?? {}).filter(
    ([name]) => name !== key && (own.has(name) || !isAlike(name, key)),
  )
  const inner = deeper(value !== undefined && Object.hasOwn(value, key) ? value[key] : undefined, key)
  // A list that is not there has no items to bind.
  return Object.fromEntries(inner === undefined ? others : [...others, [key, inner]])
}

/** True if a server may read one name as the other: in another case, in brackets, with other separators. */
export const isAlike = (one: string, other: string): boolean => segmentsOf(one)[0] === segmentsOf(other)[0]

/** A name of a form as servers read it: `a[b][0]`, `a.b[0]` and `[a]b[0]` have the same segments. */
const segmentsOf = (name: string): string[] =>
  name
    .normalize('NFKC')
    .toLowerCase()
    .split(/[[\].]+/)
    .map((segment) => segment.replaceAll(/[\s_+-]/g, ''))
    .filter((segment) => segment !== '')

/** True if a server may read a form's name as a bound place, or as one around it, under which it is not set. */
export function isFalseName(name: string, bound: readonly Binding[]): boolean {
  const segments = segmentsOf(name)
  return bound.some(({ path }) => {
    const isOf = (key: string, at: number) =>
      at >= segments.length || key === ITEMS || segmentsOf(key)[0] === segments[at]
    if (path.length === 0 || segments.length === 0 || !path.every(isOf)) return false
    const keys = path.map((key, at) => (key === ITEMS ? segments[at] : key))
    const written = keys.map((key, at) => (at === 0 ? key : `[${key}]`)).join('')
    return name !== written && !name.startsWith(`${written}[`)
  })
}

/** Ids are numbers for one server and texts for another. */
function asType(value: unknown, types: readonly unknown[]): unknown {
  const isNumeric = types.includes('integer') || types.includes('number')
  const isText = types.includes('string')
  if (typeof value === 'number' && isText && !isNumeric) return String(value)
  if (typeof value === 'string' && isNumeric && !isText && NUMBER.test(value)) return exactNumber(value)
  return value
}
