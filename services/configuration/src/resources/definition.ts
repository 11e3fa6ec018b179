import type { JsonObject } from '@parley/shared/json-object'
import type { Fault } from '@parley/shared/problem'
import type { z } from 'zod'

export const RESOURCES = [
  'channels',
  'tasks',
  'steps',
  'assistant',
  'configs',
  'actions',
  'jobs',
  'workflows',
] as const

/** A collection's name, as it stands in the path. */
export type ResourceName = (typeof RESOURCES)[number]

/** What an indexed field holds; `integers` is an array of them. */
export type FieldKind = 'text' | 'integer' | 'integers'

/** A field (a dotted path) that holds ids of another resource. */
export interface Reference {
  field: string
  to: ResourceName
  /** The reference is one only where this other field has one of these values. */
  when?: { field: string; values: readonly string[] }
}

/** All there is to know about one resource; the router and the store are the same for every one. */
export interface ResourceDefinition {
  name: ResourceName
  /** The body as callers send it, unknown keys refused. */
  schema: z.ZodObject
  /** The fields (dotted paths) that lists filter and sort by, beside `_id` and `updatedAt`. Each costs two indexes. */
  indexed: Readonly<Record<string, FieldKind>>
  references: readonly Reference[]
  /** Path ids that are no integers address documents by a key. */
  keyed?: boolean
  /** What a caller may not change that way; `from` is undefined on creation. */
  faultsOfChange?(from: JsonObject | undefined, to: JsonObject): Fault[]
}
