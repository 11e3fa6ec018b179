import { safeInteger } from '@parley/shared/json-object'
import { queryFlag } from '@parley/shared/list-query'
import { type OperationParameter, queryParameters } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { kindsOf, listParametersOf } from '../requests/list-query.ts'
import type { ResourceDefinition } from '../resources/definition.ts'

export const ifMatch: OperationParameter = {
  in: 'header',
  name: 'If-Match',
  description: 'Only where the document still has this tag; 412 otherwise',
  schema: z.string(),
}

/** On PUT, `*` only creates; on GET, a response whose tag is known already is 304. */
export const ifNoneMatch = (description: string): OperationParameter => ({
  in: 'header',
  name: 'If-None-Match',
  description,
  schema: z.string(),
})

export const prefer: OperationParameter = {
  in: 'header',
  name: 'Prefer',
  description: '`handling=strict` refuses references to what is not there (422)',
  schema: z.string(),
}

export const flagParameter = (name: string, description: string): OperationParameter => ({
  in: 'query',
  name,
  description,
  schema: queryFlag,
})

export const after: OperationParameter = {
  in: 'query',
  name: 'after',
  description: 'The `next` of the page before',
  schema: z.string(),
}

/** How a path names a document. */
export function idParameter({ keyed }: ResourceDefinition): OperationParameter {
  const integer = 'An integer from 0 to 2^53-1'
  return {
    in: 'path',
    name: 'id',
    description: keyed
      ? `${integer}, or a key: any other text without slashes and control characters`
      : integer,
    schema: keyed ? z.string().min(1).max(128) : safeInteger.nonnegative(),
    required: true,
    example: keyed ? '1' : 1,
  }
}

/** The parameter for references to replace by documents; none where there are no references. */
export function populateParameter({ references }: ResourceDefinition): OperationParameter[] {
  const fields = [...new Set(references.map(({ field }) => field))]
  if (fields.length === 0) return []
  return [
    {
      in: 'query',
      name: '_populate',
      description: `Puts documents in the place of their ids: some of \`${fields.join('`, `')}\`, separated by commas`,
      schema: z.string(),
    },
  ]
}

/** What a list can be narrowed and ordered by. */
export function listParameters(definition: ResourceDefinition): OperationParameter[] {
  const filters = Object.entries(kindsOf(definition)).map(([name, kind]) => [
    name,
    kind === 'integers' ? 'Only those whose list has this' : 'Only those with this value',
  ])
  return [
    ...queryParameters(listParametersOf(definition), {
      ...Object.fromEntries(filters),
      sort: 'With `-`, the last one first; beside a filter only `_id` and `updatedAt`',
      limit: 'How many at a time',
      after: after.description,
    }),
    ...populateParameter(definition),
  ]
}
