import type { Request } from 'express'
import { populatedFields } from '../references/populate.ts'
import { pageLimit, parameterError, parameters } from '../requests/parameters.ts'
import type { FieldKind, ResourceDefinition } from '../resources/definition.ts'
import type { PageQuery } from '../store/find-page.ts'
import { decodeCursor } from '../store/list-cursor.ts'

const DEFAULT_LIMIT = 50
const INTEGER = /^(0|-?[1-9]\d{0,15})$/

/** What a list's query parameters ask for. Throws `validation_failed` for what is not published. */
export function listQuery(
  definition: ResourceDefinition,
  req: Request,
): Pick<PageQuery, 'filters' | 'sort' | 'after' | 'limit'> & { populated: string[] } {
  const kinds: Record<string, FieldKind> = { ...definition.indexed, _id: 'integer', updatedAt: 'text' }
  const values = parameters(req, [...Object.keys(kinds), 'limit', 'after', 'sort', '_populate'])
  const filters = Object.entries(kinds).flatMap(([field, kind]) => {
    const value = values.get(field)
    return value === undefined ? [] : [[field, filterValue(field, kind, value)] as const]
  })
  const sort = sortOf(kinds, values.get('sort') ?? '_id', filters)
  const after = values.get('after')
  return {
    filters: filters.map(([field, value]) => [field, value]),
    sort,
    after: after === undefined ? undefined : decodeCursor(sortText(sort), after),
    limit: pageLimit(values.get('limit'), { otherwise: DEFAULT_LIMIT }),
    populated: populatedFields(definition, values.get('_populate')),
  }
}

type Sort = PageQuery['sort']

/** The `sort` parameter that stands for `sort`; a cursor is bound to it. */
export const sortText = ({ field, descending }: Sort): string => (descending ? `-${field}` : field)

function filterValue(field: string, kind: FieldKind, value: string): string | number {
  if (kind === 'text') return value
  if (INTEGER.test(value) && Number.isSafeInteger(Number(value))) return Number(value)
  throw parameterError(field, 'expected an integer')
}

function sortOf(kinds: Record<string, FieldKind>, text: string, filters: readonly unknown[]): Sort {
  const descending = text.startsWith('-')
  const field = descending ? text.slice(1) : text
  const alone = Object.hasOwn(kinds, field) && kinds[field] !== 'integers'
  const withFilter = field === '_id' || field === 'updatedAt'
  if (filters.length > 0 ? withFilter : alone) return { field, descending }
  throw parameterError(
    'sort',
    filters.length > 0 && alone
      ? 'a filtered list is sorted by _id or updatedAt'
      : `expected one of ${Object.keys(kinds).filter((name) => kinds[name] !== 'integers')}, or - before it`,
  )
}
