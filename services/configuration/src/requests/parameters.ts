import { safeInteger } from '@parley/shared/json-object'
import type { OperationParameter } from '@parley/shared/openapi/operation'
import { z } from 'zod'
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
