import { pathsOf, type ResourceName } from '@parley/shared/configuration-resources'
import { safeInteger } from '@parley/shared/json-object'
import type { OperationResponse } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import { definitions } from './all-resources.ts'
import type { ResourceDefinition } from './definition.ts'

const ignored = z.unknown().optional().describe('Ignored, so that a document can be sent back as it was read')
const time = z.iso.datetime()
const docId = safeInteger.describe('Unique within workspace and resource')
const key = z.string().optional().describe('The path id it was created under, where that is no integer')

/** The schemas of one resource as callers send and get it. */
interface ResourceSchemas {
  /** The body of POST and PUT. */
  sent: z.ZodObject
  /** The body of PATCH (RFC 7396): any of the fields, null to remove one. */
  patch: z.ZodObject
  /** The response of every write. */
  document: z.ZodObject
  /** The body of a read: the document, and references, in whose place `_populate` puts documents. */
  read: z.ZodObject
}

/** The target of a reference whose resource another field names. */
const anyDocument = z
  .looseObject({ _id: docId })
  .meta({ id: 'AnyDocument', description: 'A document of any resource' })

/** The time in examples. */
export const EXAMPLE_TIME = '2026-11-20T11:36:37.235Z'

type Header = NonNullable<OperationResponse['headers']>[number]

export const etag: Header = {
  name: 'ETag',
  description: 'The version of the document, for conditional requests',
}
const applied: Header = {
  name: 'Preference-Applied',
  description: 'Repeats the preference that was followed',
}

/** The parts that the routes of a resource are described by alike: those of its collection, and those of a document of it. */
export function resourceDescription(definition: ResourceDefinition) {
  const { name, title, example, own } = definition
  const schemas = resourceSchemas(definition)
  const stored = { _id: 1, ...example, ...own?.example, createdAt: EXAMPLE_TIME, updatedAt: EXAMPLE_TIME }
  const [firstField = ''] = Object.keys(example)
  const below = <R extends '' | '/{id}' | '/{id}/history'>(rest: R) => {
    const [path, ...aliases] = pathsOf(name).map((one) => `/rest/${one}${rest}`)
    return { path: path as `/rest/${ResourceName}${R}`, aliases, resource: name, tag: name }
  }
  return {
    collection: below(''),
    document: below('/{id}'),
    history: below('/{id}/history'),
    /** The document of the example after it was created. */
    stored,
    firstField,
    /** The title with its article. */
    one: `${/^[AEIOU]/.test(title) ? 'an' : 'a'} ${title.toLowerCase()}`,
    schemas,
    /** How a write may be refused that names something. */
    refusals: definition.references.length > 0 ? (['reference_forbidden'] as const) : [],
    /** The response of every write. */
    written: { schema: schemas.document, example: stored, headers: [etag, applied] },
  }
}

const made = new Map<ResourceName, ResourceSchemas>()

/** The schemas of a resource, made once from its definition. */
function resourceSchemas(definition: ResourceDefinition): ResourceSchemas {
  const known = made.get(definition.name)
  if (known !== undefined) return known
  const { title, schema, keyed, description } = definition
  const { shape } = schema
  const own = { _id: docId, ...(keyed ? { key } : {}) }
  const times = { ...definition.own?.shape, createdAt: time, updatedAt: time }
  const ignoredKeys = Object.keys({ ...own, ...times }).map((name) => [name, ignored])
  const document = z.object({ ...own, ...shape, ...times }).meta({ id: title, description })
  const schemas = {
    sent: z.strictObject({ ...shape, ...Object.fromEntries(ignoredKeys) }).meta({ id: `${title}Body` }),
    patch: z
      .strictObject(
        Object.fromEntries(
          Object.entries(shape).map(([name, field]) => [name, (field as z.ZodType).nullish()]),
        ),
      )
      .meta({ id: `${title}Patch` }),
    document,
    read: document,
  }
  // Documents may refer to documents that refer back to them.
  made.set(definition.name, schemas)
  const populated = populatedFields(definition)
  if (Object.keys(populated).length > 0) {
    schemas.read = z.object({ ...own, ...shape, ...populated, ...times }).meta({
      id: `${title}Read`,
      description: `${description} With \`_populate\`, documents in the place of ids.`,
    })
  }
  return schemas
}

/** The fields that may have documents instead of ids. */
function populatedFields({ references, schema }: ResourceDefinition): Record<string, z.ZodType> {
  const direct = references.filter(({ field }) => Object.hasOwn(schema.shape, field))
  return Object.fromEntries(
    [...Map.groupBy(direct, ({ field }) => field)].map(([field, to]) => {
      const id = schema.shape[field] as z.ZodType
      const [only] = to
      const isOfOne = to.length === 1 && only !== undefined
      const one = z.union([
        safeInteger,
        isOfOne ? resourceSchemas(definitions[only.to]).document : anyDocument,
      ])
      const filled = id.safeParse([]).success ? z.array(one) : one
      const optional = id.safeParse(undefined).success ? filled.nullish() : filled
      return [field, optional.describe(id.description ?? 'What it refers to')]
    }),
  )
}
