import { type Schema, Validator } from '@cfworker/json-schema'
import type { JsonObject } from '@parley/shared/json-object'
import { LRUCache } from 'lru-cache'
import { RE2JS } from 're2js'
import { approximate, exactly, LISTS, MAPS, SCHEMAS } from './exact-schema.ts'
import { readOnlyNames } from './read-only.ts'
import { ArgsError, isObject, memberOf, pointedAt, type SpecDocument, SpecError } from './spec-document.ts'

const MAX_SCHEMAS = 20_000
const VALUES = [
  ...['type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'format', 'maxItems', 'minItems', 'uniqueItems', 'minContains'],
  ...['maxContains', 'maxProperties', 'minProperties', 'required', 'dependentRequired'],
]
/** Keywords whose schemas apply to the same value. */
const IN_PLACE = ['not', 'if', 'then', 'else']
const UNKNOWN_REFERENCES = ['$dynamicRef', '$recursiveRef']

/**
 * A schema of an OpenAPI document as JSON Schema 2020-12 that stands alone: what it refers to is in its `$defs`,
 * and only what decides about a value is left. Throws {@link SpecError} for references that lead outside, for
 * patterns that may take for ever, and beyond 20,000 schemas, which aliases reach soon.
 */
export function argumentSchema(document: SpecDocument, schema: unknown): JsonObject {
  const definitions = new Map<string, JsonObject>()
  const names = new Map<string, string>()
  const waiting: { reference: string; dropped: readonly string[]; name: string }[] = []
  let left = MAX_SCHEMAS
  const refer = (reference: string, dropped: readonly string[]) => {
    const key = JSON.stringify([reference, ...dropped])
    const known = names.get(key)
    const name = known ?? `d${names.size}`
    names.set(key, name)
    if (known === undefined) waiting.push({ reference, dropped, name })
    return { $ref: `#/$defs/${name}` }
  }
  /** `dropped` are properties of the object that is described which no request has. */
  const convert = (given: unknown, dropped: readonly string[] = []): unknown => {
    if (--left < 0) throw new SpecError('has too many schemas')
    if (typeof given === 'boolean') return given
    if (!isObject(given)) throw new SpecError('has something in the place of a schema that is none')
    if (UNKNOWN_REFERENCES.some((key) => Object.hasOwn(given, key)))
      throw new SpecError('has a dynamic reference')
    const reference = memberOf(given, '$ref')
    if (typeof reference !== 'string') return convertMembers(given, dropped)
    // Up to OpenAPI 3.0 the other members of an object with a reference are ignored.
    const siblings = document.dialect === '3.0' ? {} : convertMembers(given, dropped)
    return { ...siblings, ...refer(reference, dropped) }
  }
  const convertMembers = (given: JsonObject, above: readonly string[]): JsonObject => {
    const made: JsonObject = {}
    const dropped = [...new Set([...above, ...readOnlyNames(document, given)])].sort()
    for (const key of VALUES) if (Object.hasOwn(given, key)) made[key] = given[key]
    if (Array.isArray(made.required) && dropped.length > 0)
      made.required = made.required.filter((name) => !dropped.includes(name))
    for (const pattern of patternsOf(given)) linearPattern(pattern)
    for (const key of SCHEMAS)
      if (Object.hasOwn(given, key)) made[key] = convert(given[key], IN_PLACE.includes(key) ? dropped : [])
    for (const key of LISTS) {
      const list = memberOf(given, key)
      if (Array.isArray(list))
        made[key] = list.map((one) => convert(one, key === 'prefixItems' ? [] : dropped))
    }
    if (isObject(memberOf(given, 'discriminator'))) relaxChoice(made)
    for (const key of MAPS) {
      const map = memberOf(given, key)
      if (isObject(map))
        made[key] = Object.fromEntries(Object.entries(map).map(([name, inner]) => [name, convert(inner)]))
    }
    return document.dialect === '3.0' ? modern(made, given) : made
  }
  const root = convert(schema)
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const made = convert(pointedAt(document.root, next.reference), next.dropped)
    definitions.set(next.name, typeof made === 'boolean' ? { allOf: [made] } : (made as JsonObject))
  }
  return { allOf: [root], $defs: Object.fromEntries(definitions) }
}

/** Alternatives that a property tells apart need not exclude each other: they are written so that a value fits several. */
function relaxChoice(made: JsonObject): void {
  if (made.oneOf === undefined || made.anyOf !== undefined) return
  made.anyOf = made.oneOf
  delete made.oneOf
}

/** Returns the patterns by which a schema matches texts and names. */
function patternsOf(given: JsonObject): string[] {
  const pattern = memberOf(given, 'pattern')
  const names = memberOf(given, 'patternProperties')
  return [...(typeof pattern === 'string' ? [pattern] : []), ...(isObject(names) ? Object.keys(names) : [])]
}

/** Converts what differs in OpenAPI 3.0: `nullable`, and bounds that are exclusive by a flag next to them. */
function modern(made: JsonObject, given: JsonObject): JsonObject {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof made[flag] !== 'boolean') continue
    const exclusive = made[flag]
    delete made[flag]
    if (!exclusive) continue
    made[flag] = made[bound]
    delete made[bound]
  }
  return memberOf(given, 'nullable') === true ? { anyOf: [{ type: 'null' }, made] } : made
}

/** Throws {@link ArgsError} where a value does not fit; `at` is where it lies in the arguments. */
export type CheckValue = (value: unknown, at: string) => void

/** A check by a schema of JSON Schema 2020-12, which is interpreted: no code is made of it. */
export function checkBy(schema: JsonObject): CheckValue {
  const plain = new Validator(approximate(schema) as Schema, '2020-12')
  return (value, at) => {
    const exact = exactly(schema, value)
    const validator = exact === undefined ? plain : new Validator(exact.schema as Schema, '2020-12')
    const error = errorsOf(validator, exact === undefined ? value : exact.value).at(-1)
    if (error === undefined) return
    const inner = error.instanceLocation.slice(1)
    // The name comes from the schema: it is required, and so not in the value.
    const missing = error.keyword === 'required' ? /"([^"]*)"/.exec(error.error)?.[1] : undefined
    if (missing !== undefined) throw new ArgsError(`${at}${inner}/${missing}`, 'is missing')
    const rule = error.keyword === 'false' ? 'is not allowed' : `breaks "${error.keyword}" of the schema`
    // The rules of the schema for a number that is no double are in one `not`.
    const isOfNumbers = exact !== undefined && error.keyword === 'not'
    throw new ArgsError(`${at}${inner}`, isOfNumbers ? 'does not fit the schema' : rule)
  }
}

/** The errors, the innermost last. Some mistakes in a schema show only when it is applied. */
function errorsOf(validator: Validator, value: unknown) {
  try {
    return withLinearPatterns(() => validator.validate(value).errors)
  } catch (error) {
    if (error instanceof SpecError) throw error
    throw new SpecError('has a schema that can not be applied')
  }
}

const MAX_PATTERNS = 1_000
const MAX_SHOWN = 100

const compiled = new LRUCache<string, RE2JS>({ max: MAX_PATTERNS })

/** A pattern of a schema, in JavaScript's syntax, matched in time linear in the text. Throws {@link SpecError}. */
function linearPattern(source: string): RE2JS {
  const known = compiled.get(source)
  if (known !== undefined) return known
  const pattern = compile(source)
  compiled.set(source, pattern)
  return pattern
}

function compile(source: string): RE2JS {
  try {
    return RE2JS.compile(RE2JS.translateRegExp(source))
  } catch {
    const shown = JSON.stringify(source.slice(0, MAX_SHOWN))
    throw new SpecError(`has a pattern that RE2, which matches in linear time, does not take: ${shown}`)
  }
}

/**
 * Runs `work`, in which every `new RegExp(pattern)` is matched in linear time: the interpreter of schemas makes its
 * patterns by the global constructor and takes no other. Nothing else runs meanwhile, since `work` is synchronous.
 */
function withLinearPatterns<T>(work: () => T): T {
  const native = globalThis.RegExp
  globalThis.RegExp = LinearRegExp as unknown as RegExpConstructor
  try {
    return work()
  } finally {
    globalThis.RegExp = native
  }
}

class LinearRegExp {
  readonly #pattern: RE2JS

  constructor(source: string) {
    this.#pattern = linearPattern(source)
  }

  test(text: string): boolean {
    return this.#pattern.matcher(text).find()
  }
}
