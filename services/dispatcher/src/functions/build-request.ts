import type { CallContext } from '@parley/shared/bound-value'
import { defined } from '@parley/shared/defined'
import { isExactNumber } from '@parley/shared/exact-number'
import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { isAlike, isWhole, withBound } from './bindings.ts'
import type { EncodedBody } from './encode-body.ts'
import { FileMarks, type RequestFiles } from './files.ts'
import type { Operation } from './operation.ts'
import type { Parameter } from './parameter.ts'
import type { RequestBody } from './request-body.ts'
import { ArgsError, isObject } from './spec-document.ts'

/** A call as it goes out over HTTP. */
export interface CallRequest {
  method: string
  /** Path and query, to be put behind the server's URL. */
  target: string
  headers: Record<string, string>
  body?: string
  /** The files of the body, which are to be read first. */
  files?: RequestFiles
}

const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The request that an operation's arguments make: those named like a parameter are that parameter, all others
 * together the body (or `body` alone is, where the body has no property of that name). Throws
 * {@link ArgsError} for what is missing, not known or does not fit. With a `context` what is bound is set by it, else it is an
 * argument as all others.
 */
export function buildRequest(operation: Operation, args: JsonObject, context?: CallContext): CallRequest {
  const isBound = (name: string, place: Parameter['place']): boolean =>
    context !== undefined &&
    operation.parameters.some(
      (one) => one.place === place && one.bindings.length > 0 && isAlike(one.name, name),
    )
  const given = operation.parameters.flatMap((parameter) => {
    const value = givenValue(parameter, args, context)
    if (value === undefined) return []
    // The names in it are the model's, and stand in the path as parameters do.
    const isNaming = parameter.style === 'matrix' && parameter.bindings.length === 0 && isObject(value)
    const own = isNaming ? Object.entries(value).filter(([name]) => !isBound(name, 'path')) : []
    return { parameter, value: isNaming ? Object.fromEntries(own) : value }
  })
  const at = (place: Parameter['place']) => given.filter(({ parameter }) => parameter.place === place)
  const pairsAt = (place: 'query' | 'cookie') =>
    at(place).flatMap(({ parameter, value }) =>
      pairsOf(parameter, value).filter(
        (pair) => isOwnPair(parameter, pair) || !isBound(decodeURIComponent(pair[0]), place),
      ),
    )
  const [query, cookies] = [pairsAt('query'), pairsAt('cookie')]
  const headers = at('header')
    .filter(({ parameter: { name, bindings } }) => bindings.length > 0 || !isBound(name, 'header'))
    .map(({ parameter, value }) => [parameter.name, headerText(parameter, value)])
  const marks = context && new FileMarks()
  const body = bodyOf(operation, args, { context, marks })
  return {
    method: operation.method,
    target: pathOf(operation.path, at('path')) + (query.length > 0 ? `?${joinedPairs(query, '&')}` : ''),
    headers: {
      ...Object.fromEntries(headers),
      ...(cookies.length > 0 ? { cookie: joinedPairs(cookies, '; ') } : {}),
      ...(body === undefined ? {} : { 'content-type': body.type }),
    },
    ...defined({ body: body?.text }),
    ...(marks !== undefined && marks.files.named.length > 0 && { files: marks.files }),
  }
}

const joinedPairs = (pairs: Array<[string, string]>, separator: string): string =>
  pairs.map((pair) => pair.join('=')).join(separator)

/** True if the parameter names the pair; else the value's own names do, which the model sets. */
const isOwnPair = ({ name }: Parameter, [key]: [string, string]): boolean => {
  const encoded = encodeURIComponent(name)
  return key === encoded || key.startsWith(`${encoded}${encodeURIComponent('[')}`)
}

function givenValue(
  { name, required, check, bindings }: Parameter,
  args: JsonObject,
  context: CallContext | undefined,
): unknown {
  const at = `/${pointerSegment(name)}`
  const given = Object.hasOwn(args, name) ? args[name] : undefined
  const value = context === undefined ? given : withBound(given, bindings, { context, at })
  if (value !== undefined) check(value, at)
  else if (required) throw new ArgsError(at, 'is missing')
  return value
}

function pathOf(template: string, given: Array<{ parameter: Parameter; value: unknown }>): string {
  let path = template
  for (const { parameter, value } of given) {
    const at = `/${pointerSegment(parameter.name)}`
    const text = pathText(parameter, value)
    if (text === '') throw new ArgsError(at, 'is empty, and so makes no path')
    path = path.replaceAll(`{${parameter.name}}`, () => text)
    // Those would lead out of the path that the spec names.
    if (path.split('/').some((segment) => DOT_SEGMENT.test(segment)))
      throw new ArgsError(at, 'makes a path that leads elsewhere')
  }
  return path
}

function headerText(parameter: Parameter, value: unknown): string {
  const text = simpleText(parameter, value)
  if (!HEADER_VALUE.test(text))
    throw new ArgsError(`/${pointerSegment(parameter.name)}`, 'has characters that no header can hold')
  return text
}

function bodyOf(
  { parameters, body }: Operation,
  args: JsonObject,
  { context, marks }: { context: CallContext | undefined; marks: FileMarks | undefined },
): EncodedBody | undefined {
  const isSet = ({ bindings }: Pick<Parameter, 'bindings'>) => context !== undefined && isWhole(bindings)
  // A name that is bound is the body's where the body has it, too.
  const names = new Set(
    parameters.filter((one) => !(isSet(one) && body?.names.has(one.name))).map(({ name }) => name),
  )
  const rest = Object.entries(args).filter(([name]) => !names.has(name))
  const [first] = rest
  if (body === undefined) {
    if (first !== undefined)
      throw new ArgsError(`/${pointerSegment(first[0])}`, 'is not known to the operation')
    return undefined
  }
  const isUnderBody = rest.length === 1 && first?.[0] === 'body' && !body.names.has('body')
  const at = isUnderBody ? '/body' : ''
  const given = first === undefined ? undefined : body.sent(isUnderBody ? first[1] : Object.fromEntries(rest))
  const bound = context === undefined ? given : withBound(given, body.bindings, { context, at })
  if (bound === undefined && !body.required) return undefined
  const whole = bound ?? {}
  const value = marks === undefined ? whole : withMarks(body.files, whole, marks)
  body.check(value, at)
  return body.encode(value, { bound: context === undefined ? [] : body.bindings, marks })
}

const withMarks = (files: RequestBody['files'], value: unknown, marks: FileMarks): unknown =>
  files === 'whole' ? marks.marked(value, '/body') : marks.markedIn(value, files)

/** As they are written between values, which are encoded (RFC 6570, 3.2.8). */
const SEPARATORS: Record<string, string> = { spaceDelimited: '%20', pipeDelimited: '%7C' }

type Given = Pick<Parameter, 'name' | 'style' | 'explode' | 'allowReserved'>

/** A path parameter's value (RFC 6570, 3.2.2, 3.2.5 and 3.2.7). */
function pathText(parameter: Given, value: unknown): string {
  const { name, style, explode } = parameter
  if (style !== 'label' && style !== 'matrix') return simpleText(parameter, value, encodeURIComponent)
  const before = style === 'label' ? '.' : ';'
  const encode = (one: unknown) => encodeURIComponent(scalarText(name, one))
  const key = encodeURIComponent(name)
  const named = (text: string) => (style === 'label' ? text : text === '' ? key : `${key}=${text}`)
  if (isObject(value) && explode)
    return Object.entries(value)
      .map(([inner, one]) => `${before}${encodeURIComponent(inner)}=${encode(one)}`)
      .join('')
  const parts = isObject(value) ? Object.entries(value).flat().map(encode) : [value].flat().map(encode)
  return explode ? parts.map((part) => before + named(part)).join('') : before + named(parts.join(','))
}

/** Characters that a query may contain as they are (RFC 3986, 3.4), without those that end or separate parameters. */
const RESERVED = /%(?:3A|2F|3F|40|24|2C)/g
const encoderOf =
  ({ allowReserved }: Given) =>
  (text: string): string =>
    allowReserved
      ? encodeURIComponent(text).replaceAll(RESERVED, decodeURIComponent)
      : encodeURIComponent(text)

/** A path or header parameter's value as text (style `simple`); `encode` is applied to each part. */
function simpleText(
  { name, style, explode }: Given,
  value: unknown,
  encode = (text: string) => text,
): string {
  if (style === 'json') return encode(JSON.stringify(value))
  if (Array.isArray(value)) return value.map((item) => encode(scalarText(name, item))).join(',')
  if (!isObject(value)) return encode(scalarText(name, value))
  const pairs = Object.entries(value).map(([key, item]) => [encode(key), encode(scalarText(name, item))])
  return pairs.map((pair) => pair.join(explode ? '=' : ',')).join(',')
}

/** A query or cookie parameter as its pairs of key and value, encoded. */
function pairsOf(parameter: Given, value: unknown): Array<[string, string]> {
  const { name, style, explode } = parameter
  const key = encodeURIComponent(name)
  const encode = encoderOf(parameter)
  const text = (item: unknown) => encode(scalarText(name, item))
  if (style === 'json') return [[key, encode(JSON.stringify(value))]]
  if (style === 'deepObject')
    return deepPairs(name, value).map((pair) => pair.map(encodeURIComponent) as [string, string])
  if (Array.isArray(value)) {
    if (explode) return value.map((item) => [key, text(item)])
    // A list of nothing is not there.
    return value.length === 0 ? [] : [[key, value.map(text).join(SEPARATORS[style] ?? ',')]]
  }
  if (!isObject(value)) return [[key, text(value)]]
  const entries = Object.entries(value).map(
    ([inner, item]) => [encodeURIComponent(inner), text(item)] as [string, string],
  )
  if (explode) return entries
  return entries.length === 0 ? [] : [[key, entries.flat().join(SEPARATORS[style] ?? ',')]]
}

/**
 * Each scalar by its place (`filter[status]`). A list of scalars in an object repeats its name, as Swagger's own client does it;
 * other lists have indices.
 */
function deepPairs(name: string, value: unknown, isInner = false): Array<[string, string]> {
  if (typeof value !== 'object' || value === null || isExactNumber(value))
    return [[name, scalarText(name, value)]]
  const isRepeated = isInner && Array.isArray(value) && value.every((item) => typeof item !== 'object')
  if (isRepeated) return value.map((item) => [name, scalarText(name, item)])
  return Object.entries(value).flatMap(([key, item]) => deepPairs(`${name}[${key}]`, item, true))
}

function scalarText(name: string, value: unknown): string {
  if (isExactNumber(value)) return value.rawJSON
  if (typeof value === 'object' && value !== null)
    throw new ArgsError(`/${pointerSegment(name)}`, 'is nested too deeply for a parameter')
  return value === null ? '' : String(value)
}
