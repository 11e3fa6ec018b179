type Node = Record<string, unknown>

/** Keywords of JSON Schema 2020-12 that OpenAPI 3.0 does not have, and that refuse nothing here that matters to a client. */
const UNKNOWN_TO_3_0 = new Set(['propertyNames', '$schema', '$id', '$comment'])

/**
 * An OpenAPI 3.1 document as 3.0.3, for generators that read no 3.1. Webhooks are left out, which 3.0 does not have;
 * everything else says the same.
 */
export function renderOpenApi30(document: object): object {
  const { webhooks: _webhooks, info, ...rest } = document as Node & { info: Node & { license: Node } }
  const { summary: _summary, license, ...described } = info
  return {
    ...(withSchemas(rest) as Node),
    openapi: '3.0.3',
    info: { ...described, license: { name: license.name } },
  }
}

/** Renders each schema in a part of the document; examples are data. */
function withSchemas(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withSchemas)
  if (!isNode(node)) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (key === 'example' || key === 'examples') return [key, value]
      if (key === 'schema') return [key, schemaOf(value)]
      if (key === 'schemas') return [key, mapValues(value as Node, schemaOf)]
      return [key, withSchemas(value)]
    }),
  )
}

function schemaOf(schema: unknown): unknown {
  if (!isNode(schema)) return schema
  const { $ref, const: constant, ...others } = schema
  const rendered = renderBounds({ ...mapValues(others, keyword), ...renderConstant(constant) })
  for (const key of UNKNOWN_TO_3_0) delete rendered[key]
  // Siblings of a reference are ignored in 3.0.
  if ($ref !== undefined)
    return Object.keys(rendered).length === 0 ? { $ref } : { ...rendered, allOf: [{ $ref }] }
  return withNullable(rendered)
}

function keyword(value: unknown, name: string): unknown {
  if (name === 'properties') return mapValues(value as Node, schemaOf)
  if (Array.isArray(value) && /^(?:any|one|all)Of$/.test(name)) return value.map(schemaOf)
  return name === 'items' || name === 'additionalProperties' || name === 'not' ? schemaOf(value) : value
}

const renderConstant = (constant: unknown): Node =>
  constant === undefined ? {} : { type: typeof constant, enum: [constant] }

/** In 3.0 a bound is exclusive by a flag beside it. */
function renderBounds({ exclusiveMinimum, exclusiveMaximum, ...others }: Node): Node {
  return {
    ...others,
    ...(typeof exclusiveMinimum === 'number' && { minimum: exclusiveMinimum, exclusiveMinimum: true }),
    ...(typeof exclusiveMaximum === 'number' && { maximum: exclusiveMaximum, exclusiveMaximum: true }),
  }
}

/** `null` is no type in 3.0 but `nullable`; several types are one schema each. */
function withNullable(schema: Node): Node {
  const { type, anyOf, ...others } = schema
  if (Array.isArray(anyOf)) return anyOfNullable(anyOf as Node[], { ...others, ...(type ? { type } : {}) })
  if (!Array.isArray(type)) return schema
  const types = type.filter((one) => one !== 'null')
  const nullable = types.length < type.length ? { nullable: true } : {}
  if (types.length === 1) return { ...others, type: types[0], ...nullable }
  return { ...others, anyOf: types.map((one) => ({ type: one })), ...nullable }
}

function anyOfNullable(anyOf: Node[], others: Node): Node {
  const members = anyOf.filter(({ type }) => type !== 'null')
  const nullable = members.length < anyOf.length ? { nullable: true } : {}
  const [only] = members
  if (members.length > 1 || only === undefined) return { ...others, anyOf: members, ...nullable }
  return only.$ref === undefined
    ? { ...only, ...others, ...nullable }
    : { ...others, allOf: [only], ...nullable }
}

const mapValues = (node: Node, change: (value: unknown, key: string) => unknown): Node =>
  Object.fromEntries(Object.entries(node).map(([key, value]) => [key, change(value, key)]))

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
