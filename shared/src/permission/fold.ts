import { evaluate } from './evaluate.ts'
import { type Comparison, type Expression, literal, type Path, partsOf, type Scope } from './expression.ts'
import { isScalar, truthy } from './values.ts'
import { stepsOf, type Work } from './work.ts'

/** The facts that are known when a role is decided on, before there is a document. */
export type FoldScope = Omit<Scope, 'doc'> & {
  /** The fields of a document's public view; a path to another one leads nowhere. All of them when left out. */
  readonly fields?: ReadonlySet<string> | undefined
  /** Only the given members of the account are known, each as a whole; a path to another stays as it is. */
  readonly isPartial?: boolean
  /** The budget that is left for folding. Unbounded when left out. */
  readonly work?: Work
}

/**
 * Replaces everything that the resource and the account decide by its value, so that only paths into `doc`
 * remain. The result evaluates to the same value as the expression did, for every document.
 *
 * @throws WorkExceeded
 */
export function fold(expression: Expression, scope: FoldScope): Expression {
  // Cheap steps are spent as well: there may be many of them.
  scope.work?.spend(1)
  switch (expression.kind) {
    case 'literal':
      return expression
    case 'path':
      if (expression.root === 'account' && scope.isPartial === true && !isKnown(expression, scope.account))
        return expression
      if (expression.root !== 'doc') return literal(evaluate(expression, scope))
      return foldDocumentPath(expression, scope)
    case 'array':
      return settled({ ...expression, items: expression.items.map((item) => fold(item, scope)) }, scope)
    case 'not':
      return settled({ ...expression, item: fold(expression.item, scope) }, scope)
    case 'and':
    case 'or':
      return foldChain(expression.kind, expression.items, scope)
    case 'compare':
      return foldComparison(
        { ...expression, left: fold(expression.left, scope), right: fold(expression.right, scope) },
        scope,
      )
    case 'call':
      return settled(
        { ...expression, target: fold(expression.target, scope), argument: fold(expression.argument, scope) },
        scope,
      )
  }
}

/** True when a path leads into a member that a partial account has. */
export const isKnown = ({ keys: [first] }: Pick<Path, 'keys'>, account: object): boolean =>
  first !== undefined && Object.hasOwn(account, first)

function foldDocumentPath(path: Path, { fields }: FoldScope): Expression {
  const [first] = path.keys
  // The document itself is an object: true, and equal to nothing.
  if (first === undefined) return literal({})
  return fields === undefined || fields.has(first) ? path : literal(undefined)
}

const NO_SCOPE: Scope = { resource: '', account: {} }

/** A literal when every direct part is one; the parts have been folded. */
function settled(expression: Expression, { work }: FoldScope): Expression {
  if (!partsOf(expression).every((part) => part.kind === 'literal')) return expression
  work?.spend(stepsOf(expression))
  return literal(evaluate(expression, NO_SCOPE))
}

/** Leaves out known items that decide nothing; a known item that decides ends the chain. */
function foldChain(kind: 'and' | 'or', items: readonly Expression[], scope: FoldScope): Expression {
  const remaining: Expression[] = []
  for (const [at, item] of items.entries()) {
    const folded = fold(item, scope)
    const known = folded.kind === 'literal'
    const decides = known && truthy(folded.value) === (kind === 'or')
    if (!known || decides || at === items.length - 1) remaining.push(folded)
    if (decides) break
  }
  const [first, ...more] = remaining
  return first && more.length === 0 ? first : { kind, items: remaining }
}

/** Known to be false when one side is a value that nothing can compare with. */
function foldComparison(comparison: Comparison, scope: FoldScope): Expression {
  const hopeless = [comparison.left, comparison.right].some(
    (side) => side.kind === 'literal' && !comparable(side.value, comparison.operator),
  )
  return hopeless ? literal(false) : settled(comparison, scope)
}

function comparable(value: unknown, operator: Comparison['operator']): boolean {
  return operator === '==' ? isScalar(value) : typeof value === 'number' || typeof value === 'string'
}
