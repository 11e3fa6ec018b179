/** The first name of a placeholder. */
export type Root = 'resource' | 'account' | 'doc'

/** `in` is represented as a call: `a in b` is method `in` on `b` with argument `a`. */
export type Method = 'indexOf' | 'includes' | 'startsWith' | 'in'

/** `!=` is `not` over `==`; `===` and `!==` are the same as `==` and `!=`. */
export type Operator = '==' | '<' | '<=' | '>' | '>='

export type Comparison = {
  readonly kind: 'compare'
  readonly operator: Operator
  readonly left: Expression
  readonly right: Expression
}

export type MethodCall = {
  readonly kind: 'call'
  readonly method: Method
  readonly target: Expression
  readonly argument: Expression
}

export type Chain = { readonly kind: 'and' | 'or'; readonly items: readonly Expression[] }

/** `column` is 1-based, where the path stands in the source. */
export type Path = {
  readonly kind: 'path'
  readonly root: Root
  readonly keys: readonly string[]
  readonly column: number
}

/**
 * The whole permission language, once parsed. A parsed literal is a string, number, boolean or null; a
 * folded one may hold any value, `undefined` (a path that led nowhere) included.
 */
export type Expression =
  | { readonly kind: 'literal'; readonly value: unknown }
  | Path
  | { readonly kind: 'array'; readonly items: readonly Expression[] }
  | { readonly kind: 'not'; readonly item: Expression }
  | Chain
  | Comparison
  | MethodCall

/** The values that paths lead to. `doc` is a plain object, as read from the database. */
export type Scope = { readonly resource: string; readonly account: object; readonly doc?: object | undefined }

export const literal = (value: unknown): Expression => ({ kind: 'literal', value })

/** The direct parts of an expression. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'path':
      return []
    case 'not':
      return [expression.item]
    case 'compare':
      return [expression.left, expression.right]
    case 'call':
      return [expression.target, expression.argument]
    default:
      return expression.items
  }
}

/** Refused source text; `column` is 1-based and counts UTF-16 units of the source as it was given. */
export class ExpressionError extends Error {
  readonly column: number

  constructor(message: string, column: number) {
    super(message)
    this.column = column
  }
}
