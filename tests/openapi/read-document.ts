import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface MediaType {
  schema: object
  example?: unknown
  examples?: Record<string, { $ref: string }>
}

interface DocumentedParameter {
  in: 'path' | 'query' | 'header'
  name: string
  required: boolean
  schema: object
  example?: unknown
}

interface Response {
  $ref?: string
  headers?: Record<string, object>
  content?: Record<string, MediaType>
}

interface DocumentedOperation {
  operationId: string
  tags: string[]
  description: string
  parameters: DocumentedParameter[]
  requestBody?: { required: boolean; content: Record<string, MediaType> }
  responses: Record<string, Response>
  security?: object[]
}

interface OpenApi {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, DocumentedOperation>>
  components: Record<'schemas' | 'responses' | 'examples' | 'headers', Record<string, never>>
}

/** The document that the gateway serves. */
export const text = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
export const document = JSON.parse(text) as OpenApi

export interface Named {
  method: string
  path: string
  operation: DocumentedOperation
}

/** Every operation of the document. */
export const operations: readonly Named[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

type Change = (object: Record<string, unknown>) => Record<string, unknown>

const closed: Change = (object) =>
  object.type === 'object' && 'properties' in object && !('additionalProperties' in object)
    ? { ...object, unevaluatedProperties: false }
    : object

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ $id: 'open', ...document })
ajv.addSchema({ $id: 'closed', ...(mapped(document, closed) as OpenApi) })
const compiled = new Map<string, ValidateFunction>()

/**
 * What is wrong with a value by a schema of the document; empty when nothing is. With `closed`, fields that are not
 * described are wrong as well.
 */
export function schemaErrors(schema: object, value: unknown, how: 'open' | 'closed' = 'open'): string[] {
  const name = how + JSON.stringify(schema)
  const described = () => (how === 'closed' ? mapped(schema, closed) : schema)
  const validate = compiled.get(name) ?? ajv.compile(mapped(described(), pointedInto(how)) as object)
  compiled.set(name, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** Applies `change` to every object in a value, the inner ones first. */
function mapped(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, change))
  if (typeof value !== 'object' || value === null) return value
  return change(Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapped(inner, change)])))
}

const pointedInto =
  (id: string): Change =>
  (object) =>
    typeof object.$ref === 'string' && object.$ref.startsWith('#')
      ? { ...object, $ref: id + object.$ref }
      : object

/** Returns the target of a reference into the document. */
export function resolved<T extends object>(value: T | { $ref: string }): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
  const found = value.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document)
  return found as T
}
