import type { Comparison, Expression, MethodCall } from './expression.ts'
import { isScalar as isScalarValue } from './values.ts'
import type { OperandLimit } from './work.ts'

const MISSING = '$$REMOVE'
const SCALARS = ['null', 'bool', 'int', 'long', 'double', 'decimal', 'string']
const FALSY = [null, false, 0, '']
const OPERATORS = { '==': '$eq', '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const

/**
 * The folded expression as an aggregation expression with exactly the evaluator's value for every document;
 * undefined is MongoDB's missing. Every operator is guarded by types: an aggregation operator that meets a
 * type it does not take fails the whole query.
 */
export function aggregation(expression: Expression): unknown {
  switch (expression.kind) {
    case 'literal':
      return constant(expression.value)
    case 'path':
      return fieldValue(expression.keys)
    case 'array':
      return expression.items.map(arrayItem)
    case 'not':
      return isFalsy(aggregation(expression.item))
    case 'and':
    case 'or':
      return chain(expression.kind, expression.items)
    case 'compare':
      return comparison(expression)
    case 'call':
      return call(expression)
  }
}

/** An aggregation that is true where the expression's value grants access, as `grants` has it. */
export function grantingAggregation(expression: Expression, workspace: number | undefined): unknown {
  const byValue = [true, workspace].filter((value) => value !== undefined)
  return bound({ value: aggregation(expression) }, ({ value }) => {
    const isIncluded = workspace === undefined ? false : { $in: [workspace, value] }
    return { $cond: [{ $isArray: [value] }, isIncluded, { $in: [value, { $literal: byValue }] }] }
  })
}

/** The documents within a limit, as `isWithin` has it. */
export function limitFilter({ keys, maxBytes, maxItems }: OperandLimit): Record<string, unknown> {
  return {
    $expr: bound({ value: fieldValue(keys) }, ({ value }) => ({
      $switch: {
        branches: [
          branch(isString(value), { $lte: [{ $strLenBytes: value }, maxBytes] }),
          branch({ $isArray: [value] }, { $lte: [{ $size: value }, maxItems] }),
        ],
        default: true,
      },
    })),
  }
}

// biome-ignore lint/suspicious/noThenProperty: the name of $switch's own field
const branch = (test: unknown, result: unknown) => ({ case: test, then: result })

/** A constant; one that equals nothing (a missing item of an array included, which BSON would make null) becomes `{}`. */
function constant(value: unknown): unknown {
  const comparable = (item: unknown) => (isScalarValue(item) ? item : {})
  if (value === undefined) return MISSING
  return { $literal: Array.isArray(value) ? value.map(comparable) : comparable(value) }
}

const isFalsy = (value: unknown) => ({ $in: [{ $ifNull: [value, null] }, { $literal: FALSY }] })
const isString = (value: unknown) => ({ $eq: [{ $type: value }, 'string'] })
const isScalar = (value: unknown) => ({ $in: [{ $type: value }, SCALARS] })

/** A field path walks into arrays; the parent being an object rules out that any step did. */
function fieldValue(keys: readonly string[]): unknown {
  const field = `$${keys.join('.')}`
  if (keys.length === 1) return field
  const parent = `$${keys.slice(0, -1).join('.')}`
  return { $cond: [{ $eq: [{ $type: parent }, 'object'] }, field, MISSING] }
}

/** In an array MongoDB would turn a missing item into null; `{}` equals nothing, as a missing value does. */
function arrayItem(item: Expression): unknown {
  return bound({ item: aggregation(item) }, ({ item: value }) => ({
    $cond: [{ $eq: [{ $type: value }, 'missing'] }, { $literal: {} }, value],
  }))
}

/** Evaluates each value once, however often the body names it. */
function bound<K extends string>(
  values: Record<K, unknown>,
  body: (names: Record<K, string>) => unknown,
): unknown {
  const names = Object.fromEntries(Object.keys(values).map((name) => [name, `$$${name}`]))
  return { $let: { vars: values, in: body(names as Record<K, string>) } }
}

function chain(kind: 'and' | 'or', items: readonly Expression[]): unknown {
  const values = Object.fromEntries(items.map((item, at) => [`v${at}`, aggregation(item)]))
  return bound(values, (names) => {
    const [last, ...others] = Object.values(names).reverse()
    const branches = others
      .reverse()
      .map((name) => branch(kind === 'and' ? isFalsy(name) : { $not: [isFalsy(name)] }, name))
    return { $switch: { branches, default: last } }
  })
}

function comparison({ operator, left, right }: Comparison): unknown {
  return bound({ l: aggregation(left), r: aggregation(right) }, ({ l, r }) => ({
    $and: [operator === '==' ? isScalar(l) : areComparable(l, r), { [OPERATORS[operator]]: [l, r] }],
  }))
}

function areComparable(l: string, r: string): unknown {
  return {
    $or: [{ $and: [{ $isNumber: l }, { $isNumber: r }] }, { $and: [isString(l), isString(r)] }],
  }
}

function call({ method, target, argument }: MethodCall): unknown {
  return bound({ t: aggregation(target), a: aggregation(argument) }, ({ t, a }) => {
    const inString = { $cond: [isString(a), { $indexOfCP: [t, a] }, -1] }
    const inArray = { $cond: [isScalar(a), { $indexOfArray: [t, a] }, -1] }
    if (method === 'in') return { $and: [{ $isArray: [t] }, { $gte: [inArray, 0] }] }
    if (method === 'startsWith') return when([[isString(t), startsWith(t, a)]])
    const result = (index: unknown) => (method === 'includes' ? { $gte: [index, 0] } : index)
    return when([
      [isString(t), result(inString)],
      [{ $isArray: [t] }, result(inArray)],
    ])
  })
}

/** Looks at no more of the text than the beginning. */
function startsWith(text: string, beginning: string): unknown {
  const same = { $eq: [{ $substrCP: [text, 0, { $strLenCP: beginning }] }, beginning] }
  return { $cond: [isString(beginning), same, false] }
}

/** The first value whose condition holds, else missing. */
function when(cases: readonly (readonly [unknown, unknown])[]): unknown {
  return cases.reduceRight<unknown>(
    (otherwise, [test, value]) => ({ $cond: [test, value, otherwise] }),
    MISSING,
  )
}
