import type { JsonObject } from '@parley/shared/json-object'
import { argumentSchema } from './argument-schema.ts'
import { type CheckValue, checkBy } from './check-value.ts'
import { type Parameter, parametersOf } from './parameter.ts'
import { isObject, memberOf, resolved, type SpecDocument } from './spec-document.ts'
import { SpecError } from './spec-error.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const MAX_OPERATIONS = 2_000
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/** Where an operation stands in its document. */
export interface FoundOperation {
  method: string
  path: string
  /** The path item, which may bring parameters and servers of its own. */
  item: JsonObject
  operation: JsonObject
}

/** An operation that is ready to be called. */
export interface Operation {
  method: string
  path: string
  parameters: Parameter[]
  body?: { type: string; required: boolean; check: CheckValue; names: Set<string> }
}

/** All operations of a document by their id; of two with one id the first counts. Throws {@link SpecError}. */
export function operationsOf(document: SpecDocument): Map<string, FoundOperation> {
  const paths = memberOf(document.root, 'paths')
  if (!isObject(paths)) throw new SpecError('has no paths')
  const found = new Map<string, FoundOperation>()
  for (const [path, given] of Object.entries(paths)) {
    const item = resolved(document, given)
    if (!isObject(item)) continue
    for (const method of METHODS) {
      const operation = memberOf(item, method)
      const id = memberOf(operation, 'operationId')
      if (!isObject(operation) || typeof id !== 'string' || found.has(id)) continue
      if (found.size >= MAX_OPERATIONS) throw new SpecError(`has more than ${MAX_OPERATIONS} operations`)
      found.set(id, { method: method.toUpperCase(), path, item, operation })
    }
  }
  return found
}

/** Reads an operation's parameters and body. Throws {@link SpecError}. */
export function readOperation(
  document: SpecDocument,
  { method, path, item, operation }: FoundOperation,
): Operation {
  const given = memberOf(operation, 'requestBody')
  const body = given === undefined ? undefined : bodyOf(document, resolved(document, given))
  return { method, path, parameters: parametersOf(document, [item, operation]), ...(body && { body }) }
}

function bodyOf(document: SpecDocument, given: unknown): Operation['body'] {
  const content = memberOf(given, 'content')
  if (!isObject(content)) throw new SpecError('has a request body without content')
  const type =
    Object.keys(content).find((key) => JSON_TYPE.test(key)) ?? (Object.hasOwn(content, '*/*') && '*/*')
  if (!type) throw new SpecError('has a request body that is not JSON')
  const schema = memberOf(content[type], 'schema') ?? true
  const properties = memberOf(resolved(document, schema), 'properties')
  return {
    type: type === '*/*' ? 'application/json' : type,
    required: memberOf(given, 'required') === true,
    check: checkBy(argumentSchema(document, schema)),
    names: new Set(isObject(properties) ? Object.keys(properties) : []),
  }
}
