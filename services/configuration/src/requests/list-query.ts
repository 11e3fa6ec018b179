import {
  cursorOf,
  encodeCursor,
  integerFilter,
  pageLimit,
  parameterError,
  readQuery,
  type Sort,
  sortBy,
} from '@parley/shared/list-query'
import type { Request } from 'express'
import { z } from 'zod'
import { populatedFields } from '../references/populate.ts'
import type { FieldKind, ResourceDefinition } from '../resources/definition.ts'
import type { PageQuery, Position } from '../store/find-page.ts'

/** What `after` holds: the order of the list, the sort field's indexed value and the id of the page's last document. */
export const listCursor = cursorOf(
  z.tuple([z.string(), z.union([z.string().max(256), z.number(), z.null()]), z.number().int().nonnegative()]),
)

/** The query parameters that lists of a resource take. */
export function listParametersOf(definition: ResourceDefinition) {
  const kinds = kindsOf(definition)
  const filters = Object.entries(kinds).map(([field, kind]) => [
    field,
    kind === 'text' ? z.string().optional() : integerFilter,
  ])
  const sortable = Object.keys(kinds).filter((field) => field !== '_id' && kinds[field] !== 'integers')
  return z.object({
    ...(Object.fromEntries(filters) as Record<string, z.ZodType<string | number | undefined>>),
    sort: sortBy(['_id', ...sortable]),
    limit: pageLimit,
    after: listCursor.optional(),
    _populate: z.string().optional(),
  })
}

/** The fields that a list can be filtered by; the first one that is given is served by its index, the id before all. */
export function kindsOf({ indexed }: ResourceDefinition): Record<string, FieldKind> {
  return { _id: 'integer', ...indexed, updatedAt: 'text' }
}

type ListQuery = Pick<PageQuery, 'filters' | 'sort' | 'after' | 'limit'> & { populated: string[] }

/** Makes the function that reads what a list is asked for. It throws `validation_failed`. */
export function listQuery(definition: ResourceDefinition): (req: Request) => ListQuery {
  const parameters = listParametersOf(definition)
  const fields = Object.keys(kindsOf(definition))
  return (req) => {
    const { sort, limit, after, _populate, ...given } = readQuery(parameters, req)
    const values = given as Record<string, string | number | undefined>
    const filters = fields.flatMap((field): PageQuery['filters'] => {
      const value = values[field]
      return value === undefined ? [] : [[field, value]]
    })
    if (filters.length > 0 && sort.field !== '_id' && sort.field !== 'updatedAt')
      throw parameterError('sort', 'a filtered list is sorted by _id or updatedAt')
    return {
      filters,
      sort,
      after: after && positionIn(after, sortText(sort)),
      limit,
      populated: populatedFields(definition, _populate),
    }
  }
}

/** The position that a cursor of a list in this order names. Throws `validation_failed` for one of another order. */
export function positionIn([madeFor, value, id]: z.output<typeof listCursor>, sortText: string): Position {
  if (madeFor === sortText) return { value, id }
  throw parameterError('after', 'is not a cursor of a list in this order', 'invalid_cursor')
}

/** The cursor of what follows `end` in a list. */
export function cursorAfter(sort: Sort, { value, id }: Position): string {
  return encodeCursor([sortText(sort), value, id])
}

const sortText = ({ field, descending }: Sort): string => (descending ? `-${field}` : field)
