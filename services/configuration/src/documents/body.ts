import { defined } from '@parley/shared/defined'
import type { Caller } from '@parley/shared/internal-token'
import { type JsonObject, jsonObject } from '@parley/shared/json-object'
import { MAX_MESSAGE_BYTES } from '@parley/shared/messaging/topology'
import { Problem } from '@parley/shared/problem'
import { validate } from '@parley/shared/validate'
import type { ResourceDefinition } from '../resources/definition.ts'
import type { Actor } from '../resources/task-transitions.ts'
import { type DocumentSecrets, requireFewSecrets, sealFields } from '../secrets/seal-fields.ts'
import type { ResourceDocument } from '../store/stored-document.ts'

/** How large the body of a write may be. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024

/**
 * A request's body by the resource's schema, as it was sent. What we set ourselves is left out, so that a
 * document can be sent back as it was read. Throws `validation_failed`.
 */
export function parseBody(definition: ResourceDefinition, body: unknown): JsonObject {
  return validate(definition.schema, isObject(body) ? withoutOwnFields(definition, body) : body)
}

/** A merge patch for the resource; what it makes of a document is still to be checked. */
export function parsePatch(definition: ResourceDefinition, body: unknown): JsonObject {
  const patch = withoutOwnFields(definition, validate(jsonObject, body))
  const unknown = Object.keys(patch).filter((field) => !Object.hasOwn(definition.schema.shape, field))
  if (unknown.length === 0) return patch
  const message = `Unrecognized keys: ${unknown.slice(0, 20).map((field) => JSON.stringify(field))}`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'unrecognized_keys', message }] })
}

const isObject = (value: unknown): value is JsonObject => jsonObject.safeParse(value).success

/** Returns the fields of a document that callers set. */
export function withoutOwnFields({ own }: Pick<ResourceDefinition, 'own'>, body: JsonObject): JsonObject {
  const { _id, key, createdAt, updatedAt, ...fields } = body
  if (own === undefined) return fields
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(own.shape, name)))
}

/**
 * The document that `fields` makes of `current`, its secrets sealed. Throws `validation_failed` for a change
 * that may not be made, and for a masked secret that is not stored.
 */
export function buildDocument(options: {
  secrets: DocumentSecrets
  definition: ResourceDefinition
  workspace: number
  current: ResourceDocument | undefined
  id: number
  key?: string | undefined
  fields: JsonObject
  /** The caller who writes; the runtime, when left out. */
  caller?: Caller
}): ResourceDocument {
  const { secrets, definition, workspace, current, id, key, caller } = options
  const by: Actor = caller === undefined ? 'runtime' : 'caller'
  if (by === 'caller') requireFewSecrets(options.fields)
  const sent = definition.complete?.(options.fields, current) ?? options.fields
  const { fields, errors } = sealFields({ secrets, workspace, fields: sent, current })
  errors.push(...(definition.errorsOfChange?.({ by, from: current, to: fields, sent }) ?? []))
  if (errors.length > 0) throw new Problem('validation_failed', { errors: errors })
  const now = new Date().toISOString()
  const ownKey = current?.key ?? key
  const doc = {
    _id: id,
    ...defined({ key: ownKey }),
    ...fields,
    ...(caller && definition.own?.valuesOf({ caller, from: current, to: fields })),
    createdAt: current?.createdAt ?? now,
    updatedAt: now,
  }
  requirePublishable(doc)
  return doc
}

/** An event has some fields beside the document. */
const MAX_JSON_BYTES = MAX_MESSAGE_BYTES - 8 * 1024

/**
 * Throws `body_too_large` for a document whose event no broker takes: the events of all others would wait behind it. A
 * control character has one byte where it is stored, and six in JSON.
 */
function requirePublishable(doc: ResourceDocument): void {
  if (Buffer.byteLength(JSON.stringify(doc)) <= MAX_JSON_BYTES) return
  throw new Problem('body_too_large', { detail: 'The document would be too large to be stored.' })
}
