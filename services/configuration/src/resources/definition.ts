import { KINDS, type ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { z } from 'zod'
import type { Actor } from './task-transitions.ts'

/** The type of an indexed field; `integers` is an array of them. */
export type FieldKind = 'text' | 'integer' | 'integers'

/** A field (a dotted path) with ids of another resource. */
export interface Reference {
  field: string
  to: ResourceName
  /** The reference is one only where this other field has one of these values. */
  when?: { field: string; values: readonly string[] }
  /** Naming a document changes it, so that it takes the right to write the document; to read it, when left out. */
  changes?: true
}

/** All there is to know about one resource; the router and the store are the same for every one. */
export interface ResourceDefinition {
  name: ResourceName
  /** The name and the purpose of one of its documents: the heading of its documentation. */
  title: string
  description: string
  /** A body that is complete and valid. */
  example: Readonly<JsonObject>
  /** The body as callers send it, unknown keys refused. */
  schema: z.ZodObject
  /** The fields (dotted paths) that lists filter and sort by, besides `_id` and `updatedAt`. Each costs two indexes. */
  indexed: Readonly<Record<string, FieldKind>>
  references: readonly Reference[]
  /** References inside of free-form fields: naming takes the same rights, and nothing else follows from them. */
  freeReferences?: readonly Reference[]
  /** Path ids that are no integers address documents by a key. */
  keyed?: boolean
  /** Combinations of indexed fields that the service itself looks documents up by. Each costs an index. */
  lookups?: readonly (readonly string[])[]
  /** Messages are applied to its documents, each to one and once. */
  appliesMessages?: true
  /** The field that names the thread with which a document is erased; what it named before is retained. */
  thread?: string
  /** Fields that the service itself sets besides ids and times; in bodies of callers they are ignored. */
  own?: {
    shape: z.ZodRawShape
    /** Of the document of {@link example}. */
    example: Readonly<JsonObject>
    /** The values after a write by this caller. */
    valuesOf(write: { caller: Caller; from: JsonObject | undefined; to: JsonObject }): JsonObject
  }
  /** The body with what a caller may leave out and a document has. */
  complete?(sent: JsonObject, from: JsonObject | undefined): JsonObject
  /** How many documents a workspace may have; as many as fit when left out. */
  most?: number
  /** Returns the errors of changes that this actor may not make; `from` is undefined on creation. */
  errorsOfChange?(change: {
    by: Actor
    from: JsonObject | undefined
    /** Its secrets sealed. */
    to: JsonObject
    /** The body that `to` was made of, with the secrets as they were sent. */
    sent: JsonObject
  }): FieldError[]
}

/** The value at the end of a dotted path through own properties of objects; undefined when it leads nowhere. */
export function valueAt(start: unknown, path: string): unknown {
  let value = start
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

/** Returns the references of documents of this kind, by their fields. */
export const referencesOf = (kind: keyof typeof KINDS): Reference[] =>
  Object.entries(KINDS[kind].references).map(([field, to]) => ({ field, to }))

/** Where the secrets of a document go. It follows from more than the document, so whoever writes it sets it. */
export const ownOrigins = (description: string): NonNullable<ResourceDefinition['own']> => ({
  shape: { origins: z.array(z.string()).optional().describe(description) },
  example: {},
  valuesOf: () => ({}),
})
