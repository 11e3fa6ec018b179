import { safeInteger } from '@parley/shared/json-object'
import type { DescribedOperation, ResponseHeader } from '@parley/shared/openapi/operation'
import { z } from 'zod'
import type { ResourceDefinition } from '../resources/definition.ts'
import {
  after,
  idParameter,
  ifMatch,
  ifNoneMatch,
  listParameters,
  populateParameter,
  prefer,
  queryFlag,
} from './parameters.ts'
import { resourceSchemas } from './resource-schemas.ts'

const AT = '2026-11-20T11:36:37.235Z'
const JSON_TYPES = ['application/json']
const PATCH_TYPES = [...JSON_TYPES, 'application/merge-patch+json']

const etag: ResponseHeader = {
  name: 'ETag',
  description: 'The version of the document, for conditional requests',
}
const applied: ResponseHeader = {
  name: 'Preference-Applied',
  description: 'Repeats the preference that was followed',
}

const deleted = z
  .object({ _id: safeInteger, deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted' })

const change = z.object({
  path: z.string().describe('A JSON Pointer'),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
})
const history = z
  .object({
    data: z.array(
      z.object({
        version: z.number().int(),
        operation: z.enum(['created', 'updated', 'deleted']),
        at: z.iso.datetime(),
        by: z.object({ _id: safeInteger, username: z.string() }),
        changes: z.array(change).nullable().describe('Null where they are not known'),
      }),
    ),
    next: z.string().nullable(),
  })
  .meta({ id: 'History', description: 'What happened to a document, the latest first' })

/** The operations that every resource has, described from its definition. */
export function resourceOperations(definition: ResourceDefinition): DescribedOperation[] {
  const { name, title, example } = definition
  const { sent, patch, document, read } = resourceSchemas(definition)
  const collection = `/rest/${name}`
  const path = `${collection}/{id}`
  const plural = name[0]?.toUpperCase() + name.slice(1)
  const one = `${/^[AEIOU]/.test(title) ? 'an' : 'a'} ${title.toLowerCase()}`
  const id = idParameter(definition)
  const stored = { _id: 1, ...example, createdAt: AT, updatedAt: AT }
  const written = { schema: document, example: stored, headers: [etag, applied] }
  const page = z.object({ data: z.array(read), next: z.string().nullable() }).meta({ id: `${title}Page` })
  const [field = ''] = Object.keys(example)
  return [
    {
      method: 'GET',
      path: collection,
      id: `list${plural}`,
      tag: name,
      summary: `List ${name}`,
      parameters: listParameters(definition),
      response: { schema: page, example: { data: [stored], next: null } },
      errors: ['validation_failed'],
    },
    {
      ...{
        method: 'POST',
        path: collection,
        id: `create${title}`,
        tag: name,
        summary: `Create ${one}`,
      },
      description: 'Under the next free id.',
      parameters: [prefer],
      body: { schema: sent, example },
      response: written,
    },
    {
      method: 'GET',
      path,
      id: `read${title}`,
      tag: name,
      summary: `Read ${one}`,
      parameters: [
        id,
        ...populateParameter(definition),
        ifNoneMatch('A tag that is known already: then 304'),
      ],
      response: { schema: read, example: stored, headers: [etag] },
      others: { 304: { description: 'It still has the tag that was sent' } },
      errors: ['invalid_id', 'not_found', 'validation_failed'],
    },
    {
      ...{
        method: 'PUT',
        path,
        id: `put${title}`,
        tag: name,
        summary: `Replace ${one}, or create it`,
      },
      description: 'Creates the document where there is none under the id; 200 either way.',
      parameters: [id, ifMatch, ifNoneMatch('`*` only creates; 412 where the document is there'), prefer],
      body: { schema: sent, example },
      response: written,
      errors: ['invalid_id', 'precondition_failed'],
    },
    {
      method: 'PATCH',
      path,
      id: `patch${title}`,
      tag: name,
      summary: `Change ${one}`,
      description: 'Merges the body into the document (RFC 7396): null removes a field.',
      parameters: [id, ifMatch, ifNoneMatch('A tag that the document must not have'), prefer],
      body: { schema: patch, example: { [field]: example[field] }, types: PATCH_TYPES },
      response: written,
      errors: ['invalid_id', 'not_found', 'precondition_failed'],
    },
    {
      method: 'DELETE',
      path,
      id: `delete${title}`,
      tag: name,
      summary: `Delete ${one}`,
      parameters: [
        id,
        { ...queryFlag('force', 'Also where others still refer to it'), example: 'true' },
        ifMatch,
        ifNoneMatch('A tag that the document must not have'),
      ],
      response: { schema: deleted, example: { _id: 1, deleted: true } },
      errors: ['invalid_id', 'not_found', 'still_referenced', 'precondition_failed', 'validation_failed'],
    },
    {
      method: 'GET',
      path: `${path}/history`,
      id: `read${title}History`,
      tag: name,
      summary: `Read what happened to ${one}`,
      parameters: [id, after],
      response: { schema: history, example: historyExample(field, example[field]) },
      errors: ['invalid_id', 'not_found', 'validation_failed'],
    },
  ]
}

function historyExample(field: string, value: unknown): z.input<typeof history> {
  const by = { _id: 1, username: 'ana@example.com' }
  const changes = [{ path: `/${field}`, after: value }]
  return { data: [{ version: 1, operation: 'created', at: AT, by, changes }], next: null }
}
