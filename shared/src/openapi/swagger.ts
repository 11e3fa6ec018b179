import { BOUND_VALUE } from '../bound-value.ts'
import { type JsonObject, jsonObject, keysOfPointer } from '../json-object.ts'

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch']
const FORM = 'application/x-www-form-urlencoded'
const MULTIPART = 'multipart/form-data'
const MAX_HOPS = 32
const ABOUT_PARAMETER = ['name', 'in', 'description', 'required', BOUND_VALUE]
/** What Swagger 2.0 calls the separators of a list, as OpenAPI 3 does; another one is no style of OpenAPI's. */
const STYLES: Record<string, JsonObject> = {
  csv: { explode: false },
  ssv: { style: 'spaceDelimited', explode: false },
  pipes: { style: 'pipeDelimited', explode: false },
  multi: { explode: true },
}

/** Whether a document is one of Swagger 2.0. */
export const isSwagger = (root: JsonObject): boolean => /^2(\.0)?$/.test(String(root.swagger))

/**
 * A document of Swagger 2.0 as OpenAPI 3.0 has it, as far as it says how operations are called. Its definitions stay where
 * they are, so that references to them lead there.
 */
export function withoutSwagger(root: JsonObject): JsonObject {
  const { securityDefinitions, paths, components: _components, ...rest } = root
  const items = objectIn(paths)
  return {
    ...rest,
    openapi: '3.0.3',
    servers: serversOf(root),
    components: { securitySchemes: mapped(objectIn(securityDefinitions), schemeOf) },
    ...(jsonObject.safeParse(paths).success && { paths: mapped(items, (item) => itemOf(root, item)) }),
  }
}

function serversOf({ schemes, host, basePath }: JsonObject): JsonObject[] {
  const path = typeof basePath === 'string' ? basePath : ''
  if (typeof host !== 'string') return path === '' ? [] : [{ url: path }]
  const listed = Array.isArray(schemes) ? schemes : []
  const scheme = listed.includes('http') && !listed.includes('https') ? 'http' : 'https'
  return [{ url: `${scheme}://${host}${path}` }]
}

function schemeOf(given: unknown): unknown {
  return objectIn(given).type === 'basic' ? { type: 'http', scheme: 'basic' } : given
}

function itemOf(root: JsonObject, given: unknown): unknown {
  const item = resolved(root, given)
  const shared = parametersIn(root, item)
  const operations = METHODS.filter((method) => jsonObject.safeParse(item[method]).success)
  return {
    ...item,
    parameters: shared.filter(({ in: place }) => !isOfBody(place)).map(parameterOf),
    ...Object.fromEntries(
      operations.map((method) => [method, operationOf(root, objectIn(item[method]), shared)]),
    ),
  }
}

function operationOf(root: JsonObject, operation: JsonObject, shared: readonly JsonObject[]): JsonObject {
  const own = parametersIn(root, operation)
  const isOwn = (one: JsonObject) => own.some(({ name, in: place }) => name === one.name && place === one.in)
  const ofBody = [...shared.filter((one) => !isOwn(one)), ...own].filter((one) => isOfBody(one.in))
  const consumes = operation.consumes ?? root.consumes
  const types = Array.isArray(consumes) ? consumes.filter((type) => typeof type === 'string') : []
  const requestBody = bodyOf(ofBody, types)
  return {
    ...operation,
    parameters: own.filter((one) => !isOfBody(one.in)).map(parameterOf),
    ...(requestBody && { requestBody }),
  }
}

const isOfBody = (place: unknown): boolean => place === 'body' || place === 'formData'

function bodyOf(parameters: readonly JsonObject[], types: readonly string[]): JsonObject | undefined {
  const body = parameters.find((one) => one.in === 'body')
  if (body !== undefined) {
    const { schema = {}, description, required } = body
    const bound = Object.hasOwn(body, BOUND_VALUE)
      ? { allOf: [schema], [BOUND_VALUE]: body[BOUND_VALUE] }
      : schema
    const given = types.length > 0 ? types : ['application/json']
    return {
      description,
      required,
      content: Object.fromEntries(given.map((type) => [type, { schema: bound }])),
    }
  }
  const fields = parameters.filter((one) => one.in === 'formData' && typeof one.name === 'string')
  if (fields.length === 0) return undefined
  const hasFile = fields.some(({ type }) => type === 'file')
  const type = hasFile || (types.includes(MULTIPART) && !types.includes(FORM)) ? MULTIPART : FORM
  const required = fields.filter((one) => one.required === true).map(({ name }) => name)
  const schema = { type: 'object', properties: byName(fields, fieldOf), required }
  const encoding = byName(fields, ({ collectionFormat, type: kind }) =>
    kind === 'array' ? { style: 'form', ...stylesOf(collectionFormat) } : {},
  )
  return { required: required.length > 0, content: { [type]: { schema, encoding } } }
}

const byName = (fields: readonly JsonObject[], make: (field: JsonObject) => JsonObject): JsonObject =>
  Object.fromEntries(fields.map((field) => [String(field.name), make(field)]))

/** A field of a form as the schema of a property. */
function fieldOf({ name: _name, in: _in, required: _required, type, ...schema }: JsonObject): JsonObject {
  return type === 'file' ? { ...schema, type: 'string', format: 'binary' } : { ...schema, type }
}

function parameterOf(given: JsonObject): JsonObject {
  const entries = Object.entries(given)
  const isAbout = ([key]: [string, unknown]) => ABOUT_PARAMETER.includes(key)
  const styles = given.type === 'array' ? stylesOf(given.collectionFormat) : {}
  return {
    ...Object.fromEntries(entries.filter(isAbout)),
    ...styles,
    schema: Object.fromEntries(entries.filter((entry) => !isAbout(entry))),
  }
}

const stylesOf = (format: unknown): JsonObject => STYLES[String(format ?? 'csv')] ?? { style: String(format) }

function parametersIn(root: JsonObject, { parameters }: JsonObject): JsonObject[] {
  return Array.isArray(parameters) ? parameters.map((one) => resolved(root, one)) : []
}

/** Follows references inside of the document. */
function resolved(root: JsonObject, given: unknown): JsonObject {
  let current = given
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const { $ref } = objectIn(current)
    if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return objectIn(current)
    current = keysOfPointer($ref.slice(1)).reduce<unknown>(own, root)
  }
  return {}
}

const own = (value: unknown, key: string): unknown => {
  const object = objectIn(value)
  return Object.hasOwn(object, key) ? object[key] : undefined
}

const objectIn = (value: unknown): JsonObject => jsonObject.safeParse(value).data ?? {}

const mapped = (object: JsonObject, change: (value: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]))
