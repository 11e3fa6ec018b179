import {
  cursorOf,
  encodeCursor,
  integerFilter,
  pageLimit,
  parameterError,
  type Sort,
  sortBy,
} from '@parley/shared/list-query'
import { Problem } from '@parley/shared/problem'
import { z } from 'zod'
import { populatedFields } from '../references/populate.ts'
import type { FieldKind, ResourceDefinition } from '../resources/definition.ts'
import type { PageQuery, Position } from '../store/find-page.ts'

const INTEGER = /^(0|[1-9]\d{0,15})$/
const MAX_KEY_CHARACTERS = 128
const NOT_IN_A_KEY = /[/\p{Cc}]/u

/** The content of `after`: the list's order, the sort field's indexed value and the id of the page's last document. */
export const listCursor = cursorOf(
  z.tuple([z.string(), z.union([z.string().max(256), z.number(), z.null()]), z.number().int().nonnegative()]),
)

/** The query parameter for references to replace by documents; none where there are no references. */
export function populateQuery({
  references,
}: ResourceDefinition): Record<string, z.ZodOptional<z.ZodString>> {
  const fields = [...new Set(references.map(({ field }) => field))]
  if (fields.length === 0) return {}
  const named = `\`${fields.join('`, `')}\``
  return {
    _populate: z
      .string()
      .optional()
      .describe(`Puts documents in the place of their ids: some of ${named}, separated by commas`),
  }
}

/** The query parameters that lists of a resource take. */
export function listParametersOf(definition: ResourceDefinition) {
  const kinds = kindsOf(definition)
  const filters = Object.entries(kinds).map(([field, kind]) => [
    field,
    (kind === 'text' ? z.string().optional() : integerFilter).describe(
      kind === 'integers' ? 'Only those whose list has this' : 'Only those with this value',
    ),
  ])
  const sortable = Object.keys(kinds).filter((field) => field !== '_id' && kinds[field] !== 'integers')
  return z.object({
    ...(Object.fromEntries(filters) as Record<string, z.ZodType<string | number | undefined>>),
    sort: sortBy(['_id', ...sortable]).describe(
      'With `-`, the last one first; beside a filter only `_id` and `updatedAt`',
    ),
    limit: pageLimit,
    after: listCursor.optional(),
    ...populateQuery(definition),
  })
}

/** The fields that a list can be filtered by; the first one that is given is served by its index, the id before all. */
function kindsOf({ indexed }: ResourceDefinition): Record<string, FieldKind> {
  return { _id: 'integer', ...indexed, updatedAt: 'text' }
}

type ListQuery = Pick<PageQuery, 'filters' | 'sort' | 'after' | 'limit'> & { populated: string[] }

/** Reads what a list is asked for. Throws `validation_failed`. */
export function listAsked(
  definition: ResourceDefinition,
  { sort, limit, after, ...given }: z.output<ReturnType<typeof listParametersOf>>,
): ListQuery {
  const { _populate, ...values } = given as Record<string, string | number | undefined>
  const filters = Object.keys(kindsOf(definition)).flatMap((field): PageQuery['filters'] => {
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
    populated: populatedFields(definition, _populate as string | undefined),
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

/** How a path names a document: by its id, or (configs only) by the key it was created under. */
export type PathId = { id: number; key?: never } | { id?: never; key: string }

/** Reads the (percent-decoded) id of a path. Throws `invalid_id`. */
export function parsePathId(definition: Pick<ResourceDefinition, 'keyed'>, text: string): PathId {
  if (INTEGER.test(text)) {
    const id = Number(text)
    if (Number.isSafeInteger(id)) return { id }
    throw new Problem('invalid_id', { detail: 'An id is at most 2^53-1.' })
  }
  if (!definition.keyed) throw new Problem('invalid_id', { detail: 'An id is an integer.' })
  if (text === '' || [...text].length > MAX_KEY_CHARACTERS || NOT_IN_A_KEY.test(text)) {
    throw new Problem('invalid_id', {
      detail: 'A key has 1 to 128 characters, none of them a slash or a control character.',
    })
  }
  return { key: text }
}
