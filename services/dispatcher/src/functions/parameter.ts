import type { JsonObject } from '@parley/shared/json-object'
import { argumentSchema, type CheckValue, checkBy } from './argument-schema.ts'
import { bindingsIn, boundValueOf, type PlacedBinding, placedIn } from './bindings.ts'
import { isObject, memberOf, resolved, type SpecDocument, SpecError } from './spec-document.ts'

const PLACES = ['path', 'query', 'header', 'cookie'] as const
const STYLES: Record<(typeof PLACES)[number], string[]> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
}
/** OpenAPI says that the first three don't count as parameters; the last is ours to set. */
const KEY = 'idempotency-key'
const NOT_PARAMETERS = ['accept', 'content-type', 'authorization', KEY]
const OF_THE_CONNECTION =
  /^(?:host|content-length|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*)$/
const MAX_DESCRIPTION = 1_024
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i
const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/

/** A parameter of an operation. */
export interface Parameter {
  name: string
  place: (typeof PLACES)[number]
  required: boolean
  /** How arrays and objects are written; `json` where the parameter says that it is JSON. */
  style: string
  explode: boolean
  /** True if characters that separate nothing in a query stay as they are. */
  allowReserved?: true
  description?: string
  schema: unknown
  check: CheckValue
  /** The parts of it that configuration sets. */
  bindings: PlacedBinding[]
}

/** The parameters of a path item and its operation, whose own come before the item's. Throws {@link SpecError}. */
export function parametersOf(document: SpecDocument, owners: JsonObject[]): Parameter[] {
  const found = new Map<string, Parameter>()
  for (const owner of owners) {
    const given = memberOf(owner, 'parameters') ?? []
    if (!Array.isArray(given)) throw new SpecError('has parameters that are no list')
    for (const one of given) {
      const parameter = parameterOf(document, resolved(document, one))
      if (parameter !== undefined) found.set(`${parameter.place} ${parameter.name}`, parameter)
    }
  }
  return [...found.values()]
}

/** True if one of these has the header `Idempotency-Key` among its parameters. Throws {@link SpecError}. */
export function declaresKey(document: SpecDocument, owners: JsonObject[]): boolean {
  return owners.some((owner) => {
    const given = memberOf(owner, 'parameters')
    return Array.isArray(given) && given.some((one) => isKey(resolved(document, one)))
  })
}

function isKey(given: unknown): boolean {
  const name = memberOf(given, 'name')
  return memberOf(given, 'in') === 'header' && typeof name === 'string' && name.toLowerCase() === KEY
}

function parameterOf(document: SpecDocument, given: unknown): Parameter | undefined {
  const name = memberOf(given, 'name')
  const place = PLACES.find((one) => one === memberOf(given, 'in'))
  if (typeof name !== 'string' || place === undefined)
    throw new SpecError('has a parameter without name or place')
  if (place === 'header' && NOT_PARAMETERS.includes(name.toLowerCase())) return undefined
  if (place === 'header' && (OF_THE_CONNECTION.test(name.toLowerCase()) || !HEADER_NAME.test(name)))
    throw new SpecError(`has a header ${JSON.stringify(name)} that can't be set`)
  const content = memberOf(given, 'content')
  const [type = '', media] = (isObject(content) && Object.entries(content)[0]) || []
  const isJson = media !== undefined && (JSON_TYPE.test(type) || type === '*/*')
  const style = isJson
    ? 'json'
    : String((media === undefined && memberOf(given, 'style')) || STYLES[place][0])
  if (media === undefined && !STYLES[place].includes(style))
    throw new SpecError(`has a parameter ${JSON.stringify(name)} of style ${JSON.stringify(style)}`)
  const explode = memberOf(given, 'explode') ?? style === 'form'
  const schema = memberOf(media ?? given, 'schema') ?? true
  const description = memberOf(given, 'description')
  const own = boundValueOf(given)
  const bindings = [...bindingsIn(document, schema), ...(own === undefined ? [] : [{ path: [], value: own }])]
  return {
    name,
    place,
    ...(typeof description === 'string' ? { description: description.slice(0, MAX_DESCRIPTION) } : {}),
    schema,
    required: place === 'path' || memberOf(given, 'required') === true,
    style,
    explode: explode === true,
    ...(place === 'query' && memberOf(given, 'allowReserved') === true && { allowReserved: true as const }),
    check: checkBy(argumentSchema(document, schema)),
    bindings: placedIn(document, schema, bindings),
  }
}
