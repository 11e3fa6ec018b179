import { evaluate } from './evaluate.ts'
import { type Comparison, type Expression, literal, partsOf, type Scope } from './expression.ts'
import { isScalar, truthy } from './values.ts'

/**
 * Replaces everything that the resource and the account decide by its value, so that only paths into `doc`
 * remain. The result evaluates to the same value as the expression did, for every document.
 */
export function fold(expression: Expression, scope: Omit<Scope, 'doc'>): Expression {
  switch (expression.kind) {
    case 'literal':
      return expression
    case 'path':
      if (expression.root !== 'doc') return literal(evaluate(expression, scope))
      // The document itself is an object: true, and equal to nothing.
      return expression.keys.length === 0 ? literal({}) : expression
    case 'array':
      return settled({ ...expression, items: expression.items.map((item) => fold(item, scope)) })
    case 'not':
      return settled({ ...expression, item: fold(expression.item, scope) })
    case 'and':
    case 'or':
      return foldChain(expression.kind, expression.items, scope)
    case 'compare':
      return foldComparison({
        ...expression,
        left: fold(expression.left, scope),
        right: fold(expression.right, scope),
      })
    case 'call':
      return settled({
        ...expression,
        target: fold(expression.target, scope),
        argument: fold(expression.argument, scope),
      })
  }
}

const NO_SCOPE: Scope = { resource: '', account: {} }

/** A literal when every direct part is one; the parts have been folded. */
function settled(expression: Expression): Expression {
  return partsOf(expression).every((part) => part.kind === 'literal')
    ? literal(evaluate(expression, NO_SCOPE))
    : expression
}

/** Leaves out known items that decide nothing; a known item that decides ends the chain. */
function foldChain(kind: 'and' | 'or', items: readonly Expression[], scope: Omit<Scope, 'doc'>): Expression {
  const kept: Expression[] = []
  for (const [at, item] of items.entries()) {
    const folded = fold(item, scope)
    const known = folded.kind === 'literal'
    const decides = known && truthy(folded.value) === (kind === 'or')
    if (!known || decides || at === items.length - 1) kept.push(folded)
    if (decides) break
  }
  const [first, ...more] = kept
  return first && more.length === 0 ? first : { kind, items: kept }
}

/** Known to be false when one side is a value that nothing can compare with. */
function foldComparison(comparison: Comparison): Expression {
  const hopeless = [comparison.left, comparison.right].some(
    (side) => side.kind === 'literal' && !comparable(side.value, comparison.operator),
  )
  return hopeless ? literal(false) : settled(comparison)
}

function comparable(value: unknown, operator: Comparison['operator']): boolean {
  return operator === '==' ? isScalar(value) : typeof value === 'number' || typeof value === 'string'
}
