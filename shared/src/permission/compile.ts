import { aggregation, grantingAggregation } from './aggregation.ts'
import {
  type Chain,
  type Comparison,
  type Expression,
  literal,
  type MethodCall,
  type Operator,
} from './expression.ts'
import { grants, isScalar, truthy } from './values.ts'

/** A MongoDB filter document. */
export type Filter = Record<string, unknown>

const NOTHING: Filter = { $nor: [{}] }
const NO_ARRAY = { $not: { $type: 'array' } }
const OPERATORS = { '==': '$eq', '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const
const MIRRORED = { '==': '==', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/**
 * Compiles a folded expression to the filter that matches exactly the documents for which its value grants
 * access (`grants` over `evaluate`). A path compared with a constant becomes a condition on the field, which
 * an index can serve; the rest becomes `$expr`.
 */
export function compile(expression: Expression, workspace: number | undefined): Filter {
  switch (expression.kind) {
    case 'literal':
      return grants(expression.value, workspace) ? {} : NOTHING
    case 'path':
      return grantingField(expression.keys, workspace)
    case 'array':
      return anyOf(expression.items.map((item) => equals(item, workspace)))
    case 'and':
      return allOf(
        expression.items.map((item, at, { length }) =>
          at === length - 1 ? compile(item, workspace) : condition(item),
        ),
      )
    case 'or':
      return grantingChoice(expression, workspace)
    case 'call':
      if (expression.method === 'indexOf') return equals(expression, workspace)
      return condition(expression)
    default:
      return condition(expression)
  }
}

/** Matches what all of the filters match. */
export const allOf = ([first = {}, ...more]: Filter[]): Filter =>
  more.length ? { $and: [first, ...more] } : first
const not = (filter: Filter): Filter => ({ $nor: [filter] })

/** Matches what one of the filters matches. */
export const anyOf = ([first = NOTHING, ...more]: Filter[]): Filter =>
  more.length ? { $or: [first, ...more] } : first

function equals(item: Expression, workspace: number | undefined): Filter {
  if (workspace === undefined) return NOTHING
  if (item.kind === 'literal') return item.value === workspace ? {} : NOTHING
  return comparison({ kind: 'compare', operator: '==', left: item, right: literal(workspace) })
}

function grantingField(keys: readonly string[], workspace: number | undefined): Filter {
  if (workspace === undefined) return field(keys, { $eq: true, ...NO_ARRAY })
  return anyOf([
    field(keys, { $in: [true, workspace], ...NO_ARRAY }),
    field(keys, { $eq: workspace, $type: 'array' }),
  ])
}

/**
 * The first true value of `||` is its result. A boolean that is true lets the caller in, so behind booleans
 * each item stands for itself; behind another value that value has to be known.
 */
function grantingChoice(choice: Chain, workspace: number | undefined): Filter {
  if (!choice.items.slice(0, -1).every(isBoolean)) return { $expr: grantingAggregation(choice, workspace) }
  return anyOf(choice.items.map((item) => compile(item, workspace)))
}

/** True when its value is true or grants nothing. */
function isBoolean(expression: Expression): boolean {
  if (expression.kind === 'and' || expression.kind === 'or') return expression.items.every(isBoolean)
  if (expression.kind === 'literal') return typeof expression.value === 'boolean'
  return !isValue(expression) && expression.kind !== 'array'
}

/** The documents for which the expression's value is true in the sense of `truthy`. */
function condition(expression: Expression): Filter {
  switch (expression.kind) {
    case 'literal':
      return truthy(expression.value) ? {} : NOTHING
    case 'not':
      return isValue(expression.item) ? computed(expression) : not(condition(expression.item))
    case 'and':
      return allOf(expression.items.map(condition))
    case 'or':
      return anyOf(expression.items.map(condition))
    case 'compare':
      return comparison(expression)
    case 'call':
      return isValue(expression) ? trueValue(expression) : (membership(expression) ?? computed(expression))
    case 'array':
      return {}
    case 'path':
      return trueValue(expression)
  }
}

/** True when it comes to a value of any type. */
function isValue(expression: Expression): boolean {
  return expression.kind === 'path' || (expression.kind === 'call' && expression.method === 'indexOf')
}

/** `$expr` takes the empty string for true, the language for false. */
const trueValue = (item: Expression): Filter => not(computed({ kind: 'not', item }))
const computed = (expression: Expression): Filter => ({ $expr: aggregation(expression) })

function comparison(expression: Comparison): Filter {
  const { operator, left, right } = expression
  if (left.kind === 'literal' && right.kind !== 'literal') {
    return comparison({ kind: 'compare', operator: MIRRORED[operator], left: right, right: left })
  }
  if (right.kind !== 'literal') return computed(expression)
  if (left.kind === 'path') return field(left.keys, fieldTest(operator, right.value))
  if (left.kind === 'call' && left.method === 'indexOf') {
    return indexComparison(left, operator, right.value) ?? computed(expression)
  }
  return computed(expression)
}

/** MongoDB's `null` also means "not there" and its conditions also look at an array's items: both ruled out. */
function fieldTest(operator: Operator, value: unknown): Filter {
  if (value === null) return { $eq: null, $exists: true, ...NO_ARRAY }
  return { [OPERATORS[operator]]: value, ...NO_ARRAY }
}

/** A condition on the field itself, reached through objects only. */
function field(keys: readonly string[], test: Filter): Filter {
  const filter: Filter = {}
  for (let length = 1; length < keys.length; length++) filter[keys.slice(0, length).join('.')] = NO_ARRAY
  return { ...filter, [keys.join('.')]: test }
}

/** `indexOf` compared with a number: only whether the item is there, where that is what it asks. */
function indexComparison(expression: MethodCall, operator: Operator, value: unknown): Filter | undefined {
  const found = membership({ ...expression, method: 'includes' })
  if (found === undefined) return undefined
  const question = `${operator} ${value}`
  if (question === '>= 0' || question === '> -1') return found
  if (!['< 0', '<= -1', '== -1'].includes(question)) return undefined
  const { target } = expression
  const searchable = target.kind === 'path' ? field(target.keys, { $type: ['string', 'array'] }) : {}
  return allOf([searchable, not(found)])
}

/** `includes`, `startsWith` and `in` between a path and a constant. */
function membership({ method, target, argument }: MethodCall): Filter | undefined {
  if (target.kind === 'literal' && argument.kind === 'path') {
    const { value } = target
    if (method === 'startsWith' || !Array.isArray(value)) return undefined
    return memberOf(argument.keys, value)
  }
  if (target.kind !== 'path' || argument.kind !== 'literal') return undefined
  return contains(target.keys, method, argument.value)
}

function memberOf(keys: readonly string[], items: readonly unknown[]): Filter {
  const scalars = items.filter(isScalar)
  if (scalars.length === 0) return NOTHING
  return field(keys, { $in: scalars, ...(scalars.includes(null) ? { $exists: true } : {}), ...NO_ARRAY })
}

function contains(keys: readonly string[], method: MethodCall['method'], item: unknown): Filter | undefined {
  if (!isScalar(item)) return NOTHING
  const inArray = field(keys, { $eq: item, $type: 'array' })
  if (method === 'in') return inArray
  if (typeof item !== 'string') return method === 'startsWith' ? NOTHING : inArray
  // A pattern can't hold NUL.
  if (item.includes('\0')) return undefined
  const pattern = item.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
  if (method === 'startsWith') return field(keys, { $regex: `^${pattern}`, ...NO_ARRAY })
  return anyOf([inArray, field(keys, { $regex: pattern, ...NO_ARRAY })])
}
