type Schema = Record<string, unknown>

/** A schema and the document that its references point into. */
export interface Side {
  schema: unknown
  document: unknown
}

const LOWER_BOUNDS = ['minLength', 'minimum', 'minItems'] as const
const UPPER_BOUNDS = ['maxLength', 'maximum', 'maxItems'] as const

/**
 * Where and why `to` refuses values that `from` allows; empty when it takes them all. With `growing`, further values of
 * an enumeration and further fields count as taken.
 */
export function refusedValues(
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
export const members = ({ properties }: Schema) => (properties ?? {}) as Record<string, unknown>

/** The schema itself, where it is a reference. */
export function resolve({ schema, document }: Side): { schema: Schema; document: unknown } {
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
