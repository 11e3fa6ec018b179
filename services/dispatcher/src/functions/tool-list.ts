import type { ConfiguredBinding } from '@parley/shared/bound-value'
import type { JsonObject } from '@parley/shared/json-object'
import { isWhole, withoutBound } from './bindings.ts'
import { reasonOfUnused, withConfigured } from './configured-bindings.ts'
import { fileSchema } from './files.ts'
import { describedAs, MAX_SCHEMA_CHARACTERS, modelSchema, shortened } from './model-schema.ts'
import type { FoundOperation, Operation, UnnamedOperation } from './operation.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

/** The most tools that are listed of one action. */
export const MAX_TOOLS = 128
const MAX_CHARACTERS = 512 * 1024
const MAX_DESCRIPTION = 1_024

/** Something to call, as a model is told of it. */
export interface ListedTool {
  /** The operation's id, or what an MCP server calls it. */
  name: string
  description: string
  inputSchema: JsonObject
}

/** The tools that an action or a server offers. */
export interface ToolList {
  tools: ListedTool[]
  /** How many there are beyond those that fit. */
  left: number
  /** Those that can't be worked with, 20 at most. */
  broken: string[]
  /** How many of those there are beyond the 20. */
  brokenMore?: number
  /** Which of the operations that were chosen there are not, 20 at most. */
  unknown?: string[]
  /** The part that no tool has, and because of which none is listed. */
  missing?: string
}

const MAX_BROKEN = 20
const TOO_LONG = 'has an operation whose parameters are too long to be shown'

/**
 * The operations of a document as tools: 128 at most, 512 KiB together; what can't be read is left out. Where `chosen` is
 * there, those whose id or one of whose tags is in it.
 */
export function operationTools(
  spec: {
    document: SpecDocument
    found: ReadonlyMap<string, FoundOperation>
    unnamed: readonly UnnamedOperation[]
  },
  read: (id: string, found: FoundOperation) => Operation,
  {
    chosen,
    configured = [],
  }: { chosen?: readonly string[] | undefined; configured?: readonly ConfiguredBinding[] | undefined } = {},
): ToolList {
  const { document, found, unnamed } = spec
  const names = new Set(chosen)
  const isChosen = ({ operation }: FoundOperation, id = ''): boolean =>
    chosen === undefined || [id, ...tagsOf(operation)].some((name) => names.has(name))
  const used = new Set<ConfiguredBinding>()
  const chosenOnes = [...found].filter(([id, one]) => isChosen(one, id))
  const list = listTools(chosenOnes, ([id, one]) => ({
    name: id,
    description: descriptionOf(one),
    inputSchema: inputSchemaOf(document, withConfigured(document, id, read(id, one), { configured, used })),
  }))
  for (const one of unnamed) if (isChosen(one)) addBroken(list, `${one.reason} (${one.method} ${one.path})`)
  const unused = reasonOfUnused(configured, used)
  // Something that was to be bound is likely misspelled, and would be the model's to set.
  if (unused !== undefined) return { ...list, tools: [], left: 0, missing: unused }
  const tags = [...found.values(), ...unnamed].flatMap(({ operation }) => tagsOf(operation))
  const known = new Set([...found.keys(), ...tags])
  const unknown = [...names].filter((name) => !known.has(name)).slice(0, MAX_BROKEN)
  return { ...list, ...(unknown.length > 0 && { unknown }) }
}

function tagsOf(operation: JsonObject): string[] {
  const tags = memberOf(operation, 'tags')
  return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : []
}

/** The tools of an MCP server, whose schemas are theirs. */
export function serverTools(listed: readonly ListedTool[]): ToolList {
  return listTools(listed, ({ name, description, inputSchema }) => ({
    name,
    description: shortened(description, MAX_DESCRIPTION),
    inputSchema: plainObject(modelSchema({ dialect: '2020-12', root: inputSchema }, inputSchema)),
  }))
}

/**
 * The schema of an object that is not composed, which providers refuse as that of all arguments: what its parts have is
 * shown as its own, and the server says what does not go together.
 */
function plainObject({
  allOf,
  anyOf,
  oneOf,
  not: _not,
  enum: _enum,
  const: _const,
  ...own
}: JsonObject): JsonObject {
  const partsOf = (list: unknown) => (Array.isArray(list) ? list.filter(isObject) : [])
  const parts = [allOf, anyOf, oneOf].flatMap(partsOf)
  if (parts.length === 0) return { ...own, type: 'object' }
  const all = [...parts.map(plainObject), own]
  const properties = Object.fromEntries(
    all.flatMap((one) => (isObject(one.properties) ? Object.entries(one.properties) : [])),
  )
  const required = [own, ...partsOf(allOf)].flatMap((one) =>
    Array.isArray(one.required) ? one.required : [],
  )
  return { ...own, type: 'object', properties, required: [...new Set(required)] }
}

function listTools<T>(items: readonly T[], toolOf: (item: T) => ListedTool): ToolList {
  const list: ToolList = { tools: [], left: 0, broken: [] }
  const { tools } = list
  let characters = 0
  for (const item of items) {
    if (tools.length >= MAX_TOOLS || characters >= MAX_CHARACTERS) {
      list.left++
      continue
    }
    try {
      const tool = toolOf(item)
      tools.push(tool)
      characters += tool.description.length + JSON.stringify(tool.inputSchema).length
    } catch (error) {
      if (!(error instanceof SpecError)) throw error
      addBroken(list, error.message)
    }
  }
  return list
}

function addBroken(list: ToolList, reason: string): void {
  if (list.broken.length < MAX_BROKEN) list.broken.push(shortened(reason, MAX_DESCRIPTION))
  else list.brokenMore = (list.brokenMore ?? 0) + 1
}

function descriptionOf({ operation, method, path }: FoundOperation): string {
  const texts = [memberOf(operation, 'summary'), memberOf(operation, 'description')]
  const text = texts.filter((one) => typeof one === 'string' && one !== '').join('\n')
  return shortened(text === '' ? `${method} ${path}` : text, MAX_DESCRIPTION)
}

/** One object of what `buildRequest` takes: the parameters, and the members of the body or `body` as a whole. */
function inputSchemaOf(document: SpecDocument, operation: Operation): JsonObject {
  const { body } = operation
  const parameters = operation.parameters.filter(({ bindings }) => !isWhole(bindings))
  // Many parameters, each within its own bound.
  let room = 2 * MAX_SCHEMA_CHARACTERS
  const properties = parameters.map(({ name, schema, description, bindings }) => {
    const made = withoutBound(modelSchema(document, schema), bindings)
    room -= name.length + JSON.stringify(made).length
    if (room < 0) throw new SpecError(TOO_LONG)
    return [name, description === undefined ? made : describedAs(made, description)] as const
  })
  const required = parameters.filter((one) => one.required).map(({ name }) => name)
  const names = parameters.map(({ name }) => name)
  const ofBody = body === undefined || isWhole(body.bindings) ? undefined : bodySchema(document, body, names)
  const made = {
    type: 'object',
    properties: { ...Object.fromEntries(properties), ...ofBody?.properties },
    required: [...new Set([...required, ...(ofBody?.required ?? [])])],
    additionalProperties: ofBody?.open ?? false,
  }
  if (JSON.stringify(made).length <= 2 * MAX_SCHEMA_CHARACTERS) return made
  throw new SpecError(TOO_LONG)
}

interface BodySchema {
  properties: JsonObject
  required: string[]
  open: boolean
}

function bodySchema(
  document: SpecDocument,
  body: NonNullable<Operation['body']>,
  taken: readonly string[],
): BodySchema {
  const whole = withFileSchemas(withoutBound(modelSchema(document, body.schema), body.bindings), body.files)
  const named = resolved(document, body.schema)
  const clashes = [...body.names].some((name) => taken.includes(name))
  const isFlat = body.names.size > 0 && isObject(whole.properties) && !clashes && !isComposed(named)
  if (!isFlat && !body.names.has('body'))
    return { properties: { body: whole }, required: body.required ? ['body'] : [], open: false }
  const given = memberOf(whole, 'required')
  const required = body.required && Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []
  return {
    properties: isObject(whole.properties) ? whole.properties : {},
    required,
    open: memberOf(named, 'additionalProperties') !== false,
  }
}

function withFileSchemas(schema: JsonObject, files: NonNullable<Operation['body']>['files']): JsonObject {
  if (files === 'whole') return fileSchema(schema)
  const { properties } = schema
  if (!isObject(properties)) return schema
  const named = Object.entries(properties).filter(([name, one]) => files.has(name) && isObject(one))
  const shown = named.map(([name, one]): [string, JsonObject] => {
    const own = one as JsonObject
    return [name, isObject(own.items) ? { ...own, items: fileSchema(own.items) } : fileSchema(own)]
  })
  return { ...schema, properties: { ...properties, ...Object.fromEntries(shown) } }
}

/** True if a schema is composed: its properties do not show all that it asks for. */
function isComposed(schema: unknown): boolean {
  return ['allOf', 'anyOf', 'oneOf'].some((key) => memberOf(schema, key) !== undefined)
}
