import type { Decision } from '@parley/shared/permission/decide'

type Filter = Record<string, unknown>

const COMBINING = ['$and', '$or', '$nor']

/** The database's condition for what a decision lets through; documents lie under `doc` there. */
export function documentFilter(decision: Decision): Filter {
  if (decision.kind === 'all') return {}
  return decision.kind === 'none' ? { $nor: [{}] } : filterOnDocument(decision.filter)
}

/** The same condition with every path taken from `doc`. */
export function filterOnDocument(filter: Filter): Filter {
  return Object.fromEntries(
    Object.entries(filter).map(([key, test]) => {
      if (COMBINING.includes(key)) return [key, (test as Filter[]).map(filterOnDocument)]
      return key === '$expr' ? [key, expressionOnDocument(test)] : [`doc.${key}`, test]
    }),
  )
}

/** In an aggregation expression a path is a string that begins with `$`; `$$` names a variable. */
function expressionOnDocument(expression: unknown): unknown {
  if (typeof expression === 'string') {
    return /^\$[^$]/.test(expression) ? `$doc.${expression.slice(1)}` : expression
  }
  if (Array.isArray(expression)) return expression.map(expressionOnDocument)
  if (typeof expression !== 'object' || expression === null) return expression
  if ('$literal' in expression) return expression
  return Object.fromEntries(
    Object.entries(expression).map(([key, inner]) => [key, expressionOnDocument(inner)]),
  )
}
