import { isExactNumber } from '@parley/shared/exact-number'
import type { JsonObject } from '@parley/shared/json-object'
import { withoutTrailingSlashes } from '@parley/shared/server-url'
import { declaresKey, type Parameter, parametersOf } from './parameter.ts'
import { type RequestBody, readBody } from './request-body.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const MAX_OPERATIONS = 2_000
const MAX_SERVER_CHARACTERS = 8 * 1024

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
  /** Whether it takes an `Idempotency-Key`, and so does nothing twice for one. */
  declaresKey: boolean
  body?: RequestBody
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
  const body = given === undefined ? undefined : readBody(document, resolved(document, given))
  const owners = [item, operation]
  const parameters = parametersOf(document, owners)
  return { method, path, parameters, declaresKey: declaresKey(document, owners), ...(body && { body }) }
}

/** The URL that an operation's path comes behind: its own, its path's or its document's first server. */
export function serverUrl({ root }: SpecDocument, { operation, item }: FoundOperation): string {
  const servers = [operation, item, root].map((owner) => memberOf(owner, 'servers')).find(isServerList)
  const server = servers?.[0]
  const template = memberOf(server, 'url')
  if (typeof template !== 'string') throw new SpecError('names no server')
  const variables = memberOf(server, 'variables')
  let room = MAX_SERVER_CHARACTERS
  // One variable may stand in it any number of times.
  const bounded = (text: string) => {
    room -= text.length
    if (room < 0)
      throw new SpecError(`has a server whose URL is longer than ${MAX_SERVER_CHARACTERS} characters`)
    return text
  }
  const text = bounded(template).replaceAll(/\{([^{}]*)\}/g, (_whole, name: string) => {
    const value = memberOf(memberOf(variables, name), 'default')
    if (isExactNumber(value)) return bounded(value.rawJSON)
    return bounded(isObject(value) || Array.isArray(value) ? '' : String(value ?? ''))
  })
  if (!URL.canParse(text) || !/^https?:/.test(text))
    throw new SpecError('has a server without an http(s) URL')
  const { protocol, host, pathname } = new URL(text)
  return `${protocol}//${host}${withoutTrailingSlashes(pathname)}`
}

function isServerList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && isObject(value[0])
}
