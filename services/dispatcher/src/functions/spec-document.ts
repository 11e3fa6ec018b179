import { BOUND_VALUE } from '@parley/shared/bound-value'
import { isExactNumber } from '@parley/shared/exact-number'
import { EXACT_SCHEMA } from '@parley/shared/exact-yaml'
import { ForeignDocumentError, readForeignDocument } from '@parley/shared/foreign-document'
import type { JsonObject } from '@parley/shared/json-object'
import { isSwagger, withoutSwagger } from '@parley/shared/openapi/swagger'

const MAX_HOPS = 32
const NO_VERSION = 'names neither an OpenAPI 3 version under openapi nor 2.0 under swagger'

/** An OpenAPI 3 document, or one of Swagger 2.0 as that; what is in it has not been checked. */
export interface SpecDocument {
  /** Schemas up to 3.0 are written in a dialect of their own; later ones are JSON Schema 2020-12. */
  dialect: '3.0' | '2020-12'
  /** True if its schemas mark values that only responses have (`readOnly`). */
  hasDirections?: true
  /** True if it has a bound value (`x-parley-value`). */
  hasBindings?: boolean
  root: JsonObject
}

/** Parses a spec. Throws {@link SpecError}. */
export function parseSpec(text: string): SpecDocument {
  const given = readDocument(text)
  if (!isObject(given)) throw new SpecError('is no YAML mapping')
  const root = isSwagger(given) ? withoutSwagger(given) : given
  const version = String(memberOf(root, 'openapi'))
  if (!/^3(\.|$)/.test(version)) throw new SpecError(NO_VERSION)
  const dialect = /^3(\.0|$)/.test(version) ? '3.0' : '2020-12'
  return { dialect, hasDirections: true, hasBindings: hasBinding(root), root }
}

function readDocument(text: string): unknown {
  try {
    return readForeignDocument(text, EXACT_SCHEMA)
  } catch (error) {
    throw error instanceof ForeignDocumentError ? new SpecError(error.message) : error
  }
}

/** Follows a value's `$ref`s, 32 at most, inside the document only: nothing is ever fetched. Throws {@link SpecError}. */
export function resolved({ root }: SpecDocument, value: unknown): unknown {
  let current = value
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const reference = isObject(current) ? memberOf(current, '$ref') : undefined
    if (typeof reference !== 'string') return current
    current = pointedAt(root, reference)
  }
  throw new SpecError('has references that lead in a circle')
}

/** True if something binds a value, itself or in its parts, or in anything that `resolve` finds for its references. */
export function hasBinding(
  start: unknown,
  resolve: (reference: string) => unknown = () => undefined,
): boolean {
  const seen = new Set<unknown>()
  const waiting = [start]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null || isExactNumber(next) || seen.has(next)) continue
    seen.add(next)
    if (Object.hasOwn(next, BOUND_VALUE)) return true
    const reference = memberOf(next, '$ref')
    if (typeof reference === 'string') waiting.push(resolve(reference))
    for (const one of Object.values(next)) waiting.push(one)
  }
  return false
}

/** Returns the target of a local reference. Throws {@link SpecError}. */
export function pointedAt(root: JsonObject, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/'))
    throw new SpecError('refers to something outside of itself, which is not fetched')
  let current: unknown = root
  for (const segment of reference.split('/').slice(1)) {
    current = memberOf(current, decoded(segment))
    if (current === undefined) throw new SpecError(`has a reference to nothing: ${reference}`)
  }
  return current
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return segment
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value)
}

/** A value's own member; undefined where there is none. */
export function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as JsonObject)[key]
    : undefined
}

/** An action's spec can't be worked with; the message says why. */
export class SpecError extends Error {}

/** Arguments don't fit the operation; `path` is a JSON Pointer into them. */
export class ArgsError extends Error {
  readonly path: string

  constructor(path: string, reason: string) {
    super(reason)
    this.path = path
  }
}
