import { type Comparison, type Expression, type MethodCall, partsOf } from './expression.ts'
import { valueAt } from './values.ts'

/** The longest string of a document that an expression searches or orders, in bytes of UTF-8. */
export const MAX_SEARCHED_BYTES = 16_384
/** The longest string of a document that is searched for in another, in bytes of UTF-8. */
export const MAX_SOUGHT_BYTES = 1_024
/** The longest array of a document that an expression searches. */
export const MAX_SEARCHED_ITEMS = 16_384

/**
 * The budget of one decision, in steps of about a nanosecond in the usual case and 25 in the worst, and of a byte of the
 * filter that it comes to. It lets some 33 searches in a document's strings through.
 */
const BUDGET = 600_000
// A search takes haystack × needle steps at worst, of which it does many at once.
const STEPS_AT_ONCE = 64

/** The work that is left: of one decision where nothing else is said. */
export class Work {
  #left: number

  constructor(budget = BUDGET) {
    this.#left = budget
  }

  /** Throws {@link WorkExceeded} and takes nothing where less is left than `steps`. */
  spend(steps: number): void {
    if (steps > this.#left) throw new WorkExceeded()
    this.#left -= steps
  }
}

export class WorkExceeded extends Error {}

/** The steps of a search in `length` characters or items for something of `sought` characters. */
const searchSteps = (length: number, sought: number): number =>
  length + (length * Math.min(sought, length)) / STEPS_AT_ONCE

/** The steps that a folded expression takes at most, whatever the document holds within the limits. */
export function documentSteps(expression: Expression): number {
  return partsOf(expression).reduce((sum, part) => sum + documentSteps(part), stepsOf(expression))
}

/** The steps of an expression once its parts are evaluated. */
export function stepsOf(expression: Expression): number {
  if (expression.kind === 'call') return 1 + callSteps(expression)
  return expression.kind === 'compare' ? 1 + comparisonSteps(expression) : 1
}

function callSteps({ method, target, argument }: MethodCall): number {
  const sought = lengthOf(argument, MAX_SOUGHT_BYTES)
  return method === 'startsWith' ? sought : searchSteps(lengthOf(target, MAX_SEARCHED_BYTES), sought)
}

const comparisonSteps = ({ left, right }: Comparison): number =>
  Math.min(lengthOf(left, MAX_SEARCHED_BYTES), lengthOf(right, MAX_SEARCHED_BYTES))

/** How long the value of an expression is at most; one that may come from the document is as long as it may be. */
function lengthOf(expression: Expression, limit: number): number {
  switch (expression.kind) {
    case 'literal':
      return typeof expression.value === 'string' || Array.isArray(expression.value)
        ? expression.value.length
        : 1
    case 'path':
      return limit
    case 'array':
      return expression.items.reduce((sum, item) => sum + lengthOf(item, limit), 1)
    case 'and':
    case 'or':
      return Math.max(...expression.items.map((item) => lengthOf(item, limit)))
    default:
      // A number or a boolean.
      return 1
  }
}

/** A path of the document, and how long what it leads to may be for the expression to be evaluated. */
export type OperandLimit = {
  readonly keys: readonly string[]
  readonly maxBytes: number
  readonly maxItems: number
}

/**
 * The limits under which `documentSteps` holds. A document beyond one of them is denied by the entry: taken for a
 * missing value, a long string would let in where an expression says what must not be there.
 */
export function operandLimits(expression: Expression): OperandLimit[] {
  const inside = partsOf(expression).flatMap(operandLimits)
  if (expression.kind === 'call' && expression.method !== 'startsWith') {
    const { target, argument } = expression
    const searched = valuePaths(target).map((keys) => limit(keys, MAX_SEARCHED_BYTES))
    if (searched.length === 0) return inside
    return [...inside, ...searched, ...valuePaths(argument).map((keys) => limit(keys, MAX_SOUGHT_BYTES))]
  }
  // Two strings are the same by one comparison of memory, however long they are.
  if (expression.kind !== 'compare' || expression.operator === '==') return inside
  const [left, right] = [valuePaths(expression.left), valuePaths(expression.right)]
  if (left.length === 0 || right.length === 0) return inside
  return [...inside, ...[...left, ...right].map((keys) => limit(keys, MAX_SEARCHED_BYTES))]
}

const limit = (keys: readonly string[], maxBytes: number): OperandLimit => ({
  keys,
  maxBytes,
  maxItems: MAX_SEARCHED_ITEMS,
})

/** The paths into the document whose values the value of an expression may be or hold. */
function valuePaths(expression: Expression): (readonly string[])[] {
  switch (expression.kind) {
    case 'path':
      return [expression.keys]
    case 'array':
    case 'and':
    case 'or':
      return expression.items.flatMap(valuePaths)
    default:
      return []
  }
}

/** True when what the path leads to is within the limit. */
export function fits({ keys, maxBytes, maxItems }: OperandLimit, doc: object): boolean {
  const value = valueAt(doc, keys)
  if (Array.isArray(value)) return value.length <= maxItems
  if (typeof value !== 'string' || value.length * 3 <= maxBytes) return true
  return value.length <= maxBytes && utf8Bytes(value) <= maxBytes
}

const encoder = new TextEncoder()

/** How many bytes of UTF-8 a text takes; also in a browser, where the console decides as the services do. */
export const utf8Bytes = (text: string): number => encoder.encode(text).length
