import { readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

export interface MediaType {
  schema: object
  example?: unknown
  examples?: Record<string, { $ref: string }>
}

export interface Parameter {
  in: 'path' | 'query' | 'header'
  name: string
  required: boolean
  schema: object
  example?: unknown
}

export interface Response {
  $ref?: string
  headers?: Record<string, object>
  content?: Record<string, MediaType>
}

export interface Operation {
  operationId: string
  tags: string[]
  parameters: Parameter[]
  requestBody?: { required: boolean; content: Record<string, MediaType> }
  responses: Record<string, Response>
  security?: object[]
}

export interface OpenApi {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: Record<'schemas' | 'responses' | 'examples' | 'headers', Record<string, never>>
}

/** The committed document. */
export const text = readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
export const document = JSON.parse(text) as OpenApi

export interface Named {
  method: string
  path: string
  operation: Operation
}

/** Every operation of the document. */
export const operations: readonly Named[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
ajv.addSchema({ $id: 'openapi', ...document })
const compiled = new Map<object, ValidateFunction>()

/** What is wrong with a value by a schema of the document; empty when nothing is. */
export function faultsBy(schema: object, value: unknown): string[] {
  const validate = compiled.get(schema) ?? ajv.compile(pointedIntoDocument(schema) as object)
  compiled.set(schema, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

function pointedIntoDocument(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(pointedIntoDocument)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
        ? `openapi${inner}`
        : pointedIntoDocument(inner),
    ]),
  )
}

/** What a reference into the document stands for. */
export function resolved<T extends object>(value: T | { $ref: string }): T {
  if (!('$ref' in value) || typeof value.$ref !== 'string') return value as T
  const found = value.$ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document)
  return found as T
}
