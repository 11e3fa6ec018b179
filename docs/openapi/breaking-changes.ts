import { members, refusedValues, resolve, type Side } from './refused-values.ts'

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
