import type { Caller } from '@parley/shared/internal-token'
import type { JsonObject } from '@parley/shared/json-object'
import { type Route, route } from '@parley/shared/openapi/route'
import { openSecrets } from '@parley/shared/sealed-value'
import { callerOf } from '@parley/shared/service-app'
import { validate } from '@parley/shared/validate'
import type { Request } from 'express'
import {
  documentFilter,
  requireReadable,
  requireWritable,
  type WriteAccess,
  writeAccess,
} from '../access/access.ts'
import { type Lookup, prefersStrict, requireReferences } from '../references/find-referenced.ts'
import { parsePathId } from '../requests/list-query.ts'
import { idParameter, ifMatch, ifNoneMatch, prefer } from '../requests/parameters.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { resourceDescription } from '../resources/resource-schemas.ts'
import { presentWritten } from '../secrets/presenter.ts'
import { authorOf, type LiveDocument, type ResourceDocument } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import { MAX_BODY_BYTES, parsePatch, withoutOwnFields } from './body.ts'
import { documentToWrite, settleCredentials } from './build-for-caller.ts'
import type { Dependencies } from './dependencies.ts'
import { requirePreconditions, sendDocument } from './preconditions.ts'
import { locate } from './store-document.ts'

/** `PATCH /rest/{resource}/{id}`: merges the body into the document (RFC 7396). */
export function patchDocument(definition: ResourceDefinition): Route<Dependencies> {
  const { document, one, firstField, schemas, written, refusals } = resourceDescription(definition)
  return route({
    ...document,
    method: 'PATCH',
    access: 'write',
    id: `patch${definition.title}`,
    summary: `Change ${one}`,
    description: 'Merges the body into the document (RFC 7396): null removes a field.',
    parameters: [
      idParameter(definition),
      ifMatch,
      ifNoneMatch('A tag that the document must not have'),
      prefer,
    ],
    body: {
      schema: schemas.patch,
      example: { [firstField]: definition.example[firstField] },
      types: ['application/json', 'application/merge-patch+json'],
      maxBytes: MAX_BODY_BYTES,
    },
    response: written,
    errors: ['invalid_id', 'not_found', 'precondition_failed', ...refusals],
    handle: (dependencies: Dependencies) => async (req, res, asked) => {
      const { database, authorizer, writes, secrets } = dependencies
      const path = parsePathId(definition, req.params.id)
      asked.query()
      const caller = callerOf(res)
      const workspace = caller.workspace._id
      const access = await writeAccess(authorizer, caller, definition.name)
      const patch = parsePatch(definition, req.body)
      const references = prefersStrict(req, res) ? { database, authorizer, caller } : undefined
      const next = merging(dependencies, { req, definition, access, patch, references, caller })
      const found = requireReadable(access.read, await locate({ database, definition, workspace, path }))
      const address = { workspace, id: found.doc._id }
      const author = authorOf(caller)
      const guard = documentFilter(access.write)
      const change = () => changeDocument({ database, definition, address, author, guard, next })
      const changed = await writes.run(`${definition.name}/${workspace}/${address.id}`, change)
      await settleCredentials(dependencies, { definition, workspace, doc: changed.doc })
      sendDocument(req, res, presentWritten(secrets, workspace, changed))
    },
  })
}

function merging(
  dependencies: Dependencies,
  options: {
    req: Request<{ id: string }>
    definition: ResourceDefinition
    access: WriteAccess
    caller: Caller
    patch: JsonObject
    /** Where references are looked up, when dangling ones are to be refused. */
    references: Lookup | undefined
  },
): (stored: LiveDocument | undefined) => Promise<ResourceDocument> {
  const { req, definition, access, caller, patch, references } = options
  return async (stored) => {
    const current = requireReadable(access.read, stored)
    requireWritable(access, current)
    requirePreconditions(req, current)
    const id = current.doc._id
    // Opened, since a patch of a name changes what is secret.
    const before = openSecrets(current.doc, dependencies.secrets, caller.workspace._id)
    const fields = validate(definition.schema, mergePatch(withoutOwnFields(definition, before), patch))
    if (references) await requireReferences(references, { definition, fields, self: id })
    const sent = mergePatch(withoutOwnFields(definition, current.doc), patch)
    return documentToWrite(dependencies, {
      ...{ definition, caller, access, current: current.doc },
      ...{ id, fields, sent },
    })
  }
}

/** `patch` applied to `target` as RFC 7396 has it; neither is changed. Remaining keys stay in their places. */
export function mergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, isObject(value) ? mergePatch(objectOr(merged.get(key)), value) : value)
  }
  // Object.fromEntries defines its keys, so that a `__proto__` stays one.
  return Object.fromEntries(merged)
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const objectOr = (value: unknown): JsonObject => (isObject(value) ? value : {})
