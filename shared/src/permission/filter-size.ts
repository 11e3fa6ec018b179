import { type Expression, partsOf } from './expression.ts'
import { operandLimits, utf8Bytes } from './work.ts'

/** What stands around the parts of an expression where it is computed, which takes more than a condition on a field. */
const OPERATOR_BYTES = {
  literal: 40,
  path: 120,
  array: 40,
  not: 130,
  and: 80,
  or: 80,
  compare: 360,
  call: 650,
} satisfies Record<Expression['kind'], number>
/** What an item of an array or of a chain takes besides its value. */
const ITEM_BYTES = 200
const LIMIT_BYTES = 420
/** What a condition on a field says of each object that it lies in. */
const STEP_BYTES = 45
/** How often at most a filter names a path, and a text in which each character may be escaped. */
const TIMES = 3
const MAX_UTF8_BYTES = 3
const NUMBER_BYTES = 16

/** The bytes, at most, of the filter that a folded expression is compiled to, its limits included. */
export function filterBytes(expression: Expression): number {
  if (expression.kind === 'literal') return 0
  const limits = operandLimits(expression).map(({ keys }) => LIMIT_BYTES + TIMES * pathBytes(keys))
  return compiledBytes(expression) + limits.reduce((sum, bytes) => sum + bytes, 0)
}

function compiledBytes(expression: Expression): number {
  return partsOf(expression).reduce(
    (sum, part) => sum + compiledBytes(part),
    OPERATOR_BYTES[expression.kind] + ownBytes(expression),
  )
}

function ownBytes(expression: Expression): number {
  switch (expression.kind) {
    case 'literal':
      return (Array.isArray(expression.value) ? 1 : TIMES) * valueBytes(expression.value)
    case 'path':
      return TIMES * fieldBytes(expression.keys)
    case 'array':
    case 'and':
    case 'or':
      return ITEM_BYTES * expression.items.length
    default:
      return 0
  }
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return NUMBER_BYTES + utf8Bytes(value)
  if (!Array.isArray(value)) return NUMBER_BYTES
  return value.reduce<number>(
    (sum, item) => sum + valueBytes(Array.isArray(item) ? null : item),
    NUMBER_BYTES,
  )
}

/** Of the path and of each one that leads to it. */
const fieldBytes = (keys: readonly string[]): number =>
  keys.reduce((sum, _, at) => sum + STEP_BYTES + pathBytes(keys.slice(0, at + 1)), 0)

/** Below `doc`, and with each key escaped, which is how a service may store it. */
const pathBytes = (keys: readonly string[]): number =>
  keys.reduce((sum, key) => sum + 2 + MAX_UTF8_BYTES * key.length, NUMBER_BYTES)
