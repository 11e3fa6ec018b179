import type { Expression, Scope } from './expression.ts'
import { call, compare, truthy, valueAt } from './values.ts'

/**
 * Evaluates an expression in memory. Total: no expression fails, a path that leads nowhere is undefined.
 * `&&` and `||` give the value that decided, as in JavaScript.
 */
export function evaluate(expression: Expression, scope: Scope): unknown {
  switch (expression.kind) {
    case 'literal':
      return expression.value
    case 'path':
      return valueAt(scope[expression.root], expression.keys)
    case 'array':
      return expression.items.map((item) => evaluate(item, scope))
    case 'not':
      return !truthy(evaluate(expression.item, scope))
    case 'and':
    case 'or':
      return evaluateChain(expression.items, { scope, stopsAt: expression.kind === 'or' })
    case 'compare':
      return compare(expression.operator, evaluate(expression.left, scope), evaluate(expression.right, scope))
    case 'call':
      return call(expression.method, evaluate(expression.target, scope), evaluate(expression.argument, scope))
  }
}

function evaluateChain(items: readonly Expression[], { scope, stopsAt }: { scope: Scope; stopsAt: boolean }) {
  let value: unknown
  for (const item of items) {
    value = evaluate(item, scope)
    if (truthy(value) === stopsAt) return value
  }
  return value
}
