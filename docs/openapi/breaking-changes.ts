const LOWER_BOUNDS = ['minLength', 'minimum', 'minItems'] as const
const UPPER_BOUNDS = ['maxLength', 'maximum', 'maxItems'] as const

interface Media {
  content?: Record<string, { schema?: unknown }>
}
interface Parameter {
  in: string
  name: string
  required?: boolean
  schema: unknown
}
interface Operation {
  parameters?: Parameter[]
  requestBody?: Media & { required?: boolean }
  responses: Record<string, Media>
  security?: unknown[]
}
interface Document {
  paths: Record<string, Record<string, Operation>>
}

/**
 * What in `now` breaks a caller who was written against `before`: operations, parameters, media types and fields that
 * are gone, requests that are refused now, and answers of another form. Not breaking: what is added, further values of
 * an enumeration in an answer, other errors, texts.
 */
export function breakingChanges(before: Document, now: Document): string[] {
  return Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, old]) => {
      const name = `${method.toUpperCase()} ${path}`
      const operation = now.paths[path]?.[method]
      if (operation === undefined) return [`${name} is gone`]
      const side = (document: Document) => (schema: unknown) => ({ schema, document })
      const changes = changesOf(old, operation, { before: side(before), now: side(now) })
      return changes.map((change) => `${name}: ${change}`)
    }),
  )
}

interface Sides {
  before(schema: unknown): Side
  now(schema: unknown): Side
}

function changesOf(old: Operation, operation: Operation, sides: Sides): string[] {
  const secured = old.security?.length === 0 && operation.security?.length !== 0
  return [
    ...(secured ? ['wants a token'] : []),
    ...changesOfParameters(old.parameters ?? [], operation.parameters ?? [], sides),
    ...changesOfRequest(old, operation, sides),
    ...changesOfResponse(old, operation, sides),
  ]
}

function changesOfParameters(old: Parameter[], parameters: Parameter[], sides: Sides): string[] {
  const same = (list: Parameter[], { in: place, name }: Parameter) =>
    list.find((each) => each.in === place && each.name === name)
  const changed = old.flatMap((parameter) => {
    const now = same(parameters, parameter)
    if (now === undefined) return [`parameter ${parameter.name} is gone`]
    const required = now.required && !parameter.required ? [`parameter ${parameter.name} is required`] : []
    const refused = refusedValues(sides.before(parameter.schema), sides.now(now.schema))
    return [...required, ...refused.map((why) => `parameter ${parameter.name}${why}`)]
  })
  const added = parameters.filter((parameter) => parameter.required && same(old, parameter) === undefined)
  return [...changed, ...added.map(({ name }) => `parameter ${name} is required`)]
}

function changesOfRequest(old: Operation, operation: Operation, sides: Sides): string[] {
  const required = operation.requestBody?.required && !old.requestBody?.required ? ['a body is required'] : []
  const types = Object.entries(old.requestBody?.content ?? {}).flatMap(([type, { schema }]) => {
    const now = operation.requestBody?.content?.[type]
    if (now === undefined) return [`a body of ${type} is not taken`]
    return refusedValues(sides.before(schema ?? {}), sides.now(now.schema ?? {})).map((why) => `body ${why}`)
  })
  return [...required, ...types]
}

function changesOfResponse(old: Operation, operation: Operation, sides: Sides): string[] {
  return Object.entries(old.responses[200]?.content ?? {}).flatMap(([type, { schema }]) => {
    const now = operation.responses[200]?.content?.[type]
    if (now === undefined) return [`does not answer with ${type}`]
    const [before, after] = [sides.before(schema ?? {}), sides.now(now.schema ?? {})]
    const changed = refusedValues(after, before, { growing: true })
    return [...changed, ...fieldsGone(before, after)].map((why) => `answer ${why}`)
  })
}

/** Described fields that an answer has no more, at any depth. */
function fieldsGone(before: Side, now: Side, at = '', met: readonly unknown[] = []): string[] {
  const [old, after] = [resolve(before), resolve(now)]
  if (met.includes(old.schema)) return []
  const deeper = [...met, old.schema]
  const items = old.schema.items === undefined || after.schema.items === undefined
  const inItems = items
    ? []
    : fieldsGone(
        { ...old, schema: old.schema.items },
        { ...after, schema: after.schema.items },
        `${at}/*`,
        deeper,
      )
  const fields = members(after.schema)
  return [
    ...inItems,
    ...Object.entries(members(old.schema)).flatMap(([name, schema]) => {
      if (fields[name] === undefined) return [`${at}/${name} is gone`]
      return fieldsGone({ ...old, schema }, { ...after, schema: fields[name] }, `${at}/${name}`, deeper)
    }),
  ]
}

type Schema = Record<string, unknown>

/** A schema and the document that its references point into. */
interface Side {
  schema: unknown
  document: unknown
}

/**
 * Where and why `to` refuses values that `from` allows; empty when it takes them all. With `growing`, further values of
 * an enumeration and further fields count as taken.
 */
function refusedValues(
  from: Side,
  to: Side,
  options: { at?: string; growing?: boolean; met?: ReadonlySet<string> } = {},
): string[] {
  const { at = '', growing = false } = options
  const [left, right] = [resolve(from), resolve(to)]
  const pair = JSON.stringify([from.schema, to.schema])
  // Schemas that refer to themselves are compared once.
  if (options.met?.has(pair)) return []
  const met = new Set([...(options.met ?? []), pair])
  const inner = (place: string, from: unknown, to: unknown) =>
    refusedValues({ ...left, schema: from }, { ...right, schema: to }, { at: at + place, growing, met })
  const [allowed, taken] = [alternatives(left), alternatives(right)]
  return allowed.flatMap((one) => {
    const tries = taken.map((other) => refusedByOne(one, other, { at, growing, inner }))
    return tries.some((refused) => refused.length === 0) ? [] : closest(tries)
  })
}

function closest(tries: string[][]): string[] {
  return tries.toSorted((a, b) => a.length - b.length)[0] ?? []
}

interface Comparing {
  at: string
  growing: boolean
  inner(place: string, from: unknown, to: unknown): string[]
}

function refusedByOne(from: Schema, to: Schema, comparing: Comparing): string[] {
  const { at } = comparing
  if (to.type !== undefined && !hasType(from.type, to.type)) {
    return [`${at} is ${String(to.type)}, not ${String(from.type ?? 'anything')}`]
  }
  return [
    ...refusedConstants(from, to, comparing),
    ...refusedByBounds(from, to, at),
    ...(from.type === 'object' ? refusedMembers(from, to, comparing) : []),
    ...(from.type === 'array' && to.items !== undefined
      ? comparing.inner('/*', from.items ?? {}, to.items)
      : []),
  ]
}

const hasType = (from: unknown, to: unknown) => from === to || (from === 'integer' && to === 'number')

function refusedConstants(from: Schema, to: Schema, { at, growing }: Comparing): string[] {
  const [allowed, taken] = [constants(from), constants(to)]
  if (taken === undefined || (growing && allowed !== undefined)) return []
  if (allowed === undefined) return [`${at} is one of ${taken.join(', ')} only`]
  const refused = allowed.filter((value) => !taken.includes(value))
  return refused.length === 0 ? [] : [`${at} is not ${refused.join(', ')} any more`]
}

function constants({ enum: values, const: value }: Schema): unknown[] | undefined {
  return value === undefined ? (values as unknown[] | undefined) : [value]
}

function refusedByBounds(from: Schema, to: Schema, at: string): string[] {
  const narrower = (bound: string, isOutside: (from: number, to: number) => boolean, open: number) =>
    to[bound] !== undefined && isOutside(Number(from[bound] ?? open), Number(to[bound]))
  const bounds = [
    ...LOWER_BOUNDS.filter((bound) => narrower(bound, (from, to) => from < to, Number.NEGATIVE_INFINITY)),
    ...UPPER_BOUNDS.filter((bound) => narrower(bound, (from, to) => from > to, Number.POSITIVE_INFINITY)),
    ...(to.pattern !== undefined && to.pattern !== from.pattern ? ['pattern'] : []),
  ]
  return bounds.map((bound) => `${at} has ${bound} ${String(to[bound])}`)
}

function refusedMembers(from: Schema, to: Schema, { at, growing, inner }: Comparing): string[] {
  const required = ((to.required ?? []) as string[]).filter(
    (name) => !((from.required ?? []) as string[]).includes(name),
  )
  const [allowed, taken] = [members(from), members(to)]
  const isClosed = to.additionalProperties === false && !growing
  return [
    ...required.map((name) => `${at}/${name} is required`),
    ...Object.entries(allowed).flatMap(([name, schema]) => {
      if (taken[name] !== undefined) return inner(`/${name}`, schema, taken[name])
      return isClosed ? [`${at}/${name} is not taken`] : []
    }),
    ...(isClosed && from.additionalProperties !== false ? [`${at} takes no further fields`] : []),
  ]
}

/** The fields that a schema of an object describes. */
const members = ({ properties }: Schema) => (properties ?? {}) as Record<string, unknown>

/** The schema itself, where it is a reference. */
function resolve({ schema, document }: Side): { schema: Schema; document: unknown } {
  const { $ref } = schema as Schema
  if (typeof $ref !== 'string') return { schema: schema as Schema, document }
  const target = $ref.split('/').slice(1)
  const found = target.reduce<unknown>((at, key) => (at as Schema)[key], document)
  return resolve({ schema: found, document })
}

/** Each form that a value may have: of `anyOf`, and of several types. */
function alternatives({ schema, document }: { schema: Schema; document: unknown }): Schema[] {
  const { anyOf, type } = schema
  if (Array.isArray(anyOf)) return anyOf.flatMap((one) => alternatives(resolve({ schema: one, document })))
  return Array.isArray(type) ? type.map((one) => ({ ...schema, type: one })) : [schema]
}
