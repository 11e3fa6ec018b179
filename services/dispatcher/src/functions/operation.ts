import { isExactNumber } from '@parley/shared/exact-number'
import type { JsonObject } from '@parley/shared/json-object'
import { type NativeServers, serverUrlOf } from '@parley/shared/native-request'
import { withoutTrailingSlashes } from '@parley/shared/server-url'
import { declaresKey, type Parameter, parametersOf } from './parameter.ts'
import { type RequestBody, readBody } from './request-body.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const MAX_OPERATIONS = 2_000
const MAX_QUOTED = 100

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
  /** True if it takes an `Idempotency-Key`, and so does nothing twice for the same key. */
  declaresKey: boolean
  body?: RequestBody
}

/** One that nothing can name, and why. */
export interface UnnamedOperation extends FoundOperation {
  reason: string
}

/** All operations of a document by their id; of two with one id the first counts. Throws {@link SpecError}. */
export function operationsOf(document: SpecDocument): {
  found: Map<string, FoundOperation>
  unnamed: UnnamedOperation[]
} {
  const paths = memberOf(document.root, 'paths')
  if (!isObject(paths)) throw new SpecError('has no paths')
  const found = new Map<string, FoundOperation>()
  const unnamed: UnnamedOperation[] = []
  for (const [path, given] of Object.entries(paths)) {
    const item = resolved(document, given)
    if (!isObject(item)) continue
    for (const method of METHODS) {
      const operation = memberOf(item, method)
      if (!isObject(operation)) continue
      const id = memberOf(operation, 'operationId')
      const one = { method: method.toUpperCase(), path, item, operation }
      if (typeof id !== 'string' || id === '') unnamed.push({ ...one, reason: 'has no operationId' })
      else if (found.has(id))
        unnamed.push({ ...one, reason: `has the operationId of another, ${quoted(id)}` })
      else if (found.size < MAX_OPERATIONS) found.set(id, one)
      else throw new SpecError(`has more than ${MAX_OPERATIONS} operations`)
    }
  }
  return { found, unnamed }
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, MAX_QUOTED).toWellFormed())

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

/**
 * The URL that an operation's path comes behind: its own, its path's or its document's first server, else the base that the
 * action's module names.
 */
export function serverUrl(
  { root }: SpecDocument,
  { operation, item }: FoundOperation,
  native: NativeServers,
): string {
  const servers = [operation, item, root].map((owner) => memberOf(owner, 'servers')).find(isServerList)
  const server = servers?.[0]
  const template = memberOf(server, 'url') ?? (server === undefined ? native.base : undefined)
  if (typeof template !== 'string') throw new SpecError('names no server')
  const variables = memberOf(server, 'variables')
  const url = serverUrlOf(template, native, (name) => {
    const value = memberOf(memberOf(variables, name), 'default')
    if (isExactNumber(value)) return value.rawJSON
    return isObject(value) || Array.isArray(value) ? '' : String(value ?? '')
  })
  if (url === 'too_long') throw new SpecError('has a server whose URL is longer than 8192 characters')
  if (url === undefined) throw new SpecError('has a server without an http(s) URL')
  return `${url.protocol}//${url.host}${withoutTrailingSlashes(url.pathname)}`
}

function isServerList(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && isObject(value[0])
}
