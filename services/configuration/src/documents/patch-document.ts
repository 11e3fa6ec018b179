import type { JsonObject } from '@parley/shared/json-object'
import { noParameters, readQuery } from '@parley/shared/list-query'
import type { SecretBox } from '@parley/shared/sealed-value'
import { callerOf } from '@parley/shared/service-app'
import { validate } from '@parley/shared/validate'
import type { Request, RequestHandler } from 'express'
import {
  requireMayBecome,
  requireReadable,
  requireWritable,
  type WriteAccess,
  writeAccess,
} from '../access/access.ts'
import { documentFilter } from '../access/document-filter.ts'
import type { Lookup } from '../references/find-referenced.ts'
import { prefersStrict, requireReferences } from '../references/require-references.ts'
import { parsePathId } from '../requests/path-id.ts'
import type { ResourceDefinition } from '../resources/definition.ts'
import { presentWritten } from '../secrets/presenter.ts'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import { changeDocument } from '../store/write-document.ts'
import { authorOf } from './author.ts'
import { buildDocument, parsePatch, withoutOwnFields } from './body.ts'
import type { Dependencies } from './dependencies.ts'
import { locate } from './locate.ts'
import { mergePatch } from './merge-patch.ts'
import { requirePreconditions, sendDocument } from './preconditions.ts'

/** `PATCH /rest/{resource}/{id}`: merges the body into the document (RFC 7396). */
export function patchDocument(
  { database, authorizer, writes, secrets }: Dependencies,
  definition: ResourceDefinition,
): RequestHandler<{ id: string }> {
  return async (req, res) => {
    const path = parsePathId(definition, req.params.id)
    readQuery(noParameters, req)
    const caller = callerOf(res)
    const workspace = caller.workspace._id
    const access = await writeAccess(authorizer, caller, definition.name)
    const patch = parsePatch(definition, req.body)
    const references = prefersStrict(req, res) ? { database, authorizer, caller } : undefined
    const next = merging({ req, secrets, workspace, definition, access, patch, references })
    const found = requireReadable(access.read, await locate({ database, definition, workspace, path }))
    const address = { workspace, id: found.doc._id }
    const author = authorOf(caller)
    const guard = documentFilter(access.write)
    const change = () => changeDocument({ database, definition, address, author, guard, next })
    const changed = await writes.run(`${definition.name}/${workspace}/${address.id}`, change)
    sendDocument(req, res, presentWritten(secrets, workspace, changed))
  }
}

function merging(options: {
  req: Request<{ id: string }>
  secrets: SecretBox
  workspace: number
  definition: ResourceDefinition
  access: WriteAccess
  patch: JsonObject
  /** Where references are looked up, when dangling ones are to be refused. */
  references: Lookup | undefined
}): (stored: LiveDocument | undefined) => Promise<ResourceDocument> {
  const { req, secrets, workspace, definition, access, patch, references } = options
  return async (stored) => {
    const current = requireReadable(access.read, stored)
    requireWritable(access, current)
    requirePreconditions(req, current)
    const id = current.doc._id
    const fields = validate(definition.schema, mergePatch(withoutOwnFields(current.doc), patch))
    if (references) await requireReferences(references, { definition, fields, self: id })
    const doc = buildDocument({ secrets, definition, workspace, current: current.doc, id, fields })
    requireMayBecome(access, doc)
    return doc
  }
}
