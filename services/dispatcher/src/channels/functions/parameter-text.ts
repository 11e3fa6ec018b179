import { pointerSegment } from '@parley/shared/json-body'
import type { Parameter } from './parameter.ts'
import { isObject } from './spec-document.ts'
import { ArgsError } from './spec-error.ts'

const SEPARATORS: Record<string, string> = { spaceDelimited: ' ', pipeDelimited: '|' }

type Given = Pick<Parameter, 'name' | 'style' | 'explode'>

/** A path or header parameter's value as text (style `simple`); `encode` is applied to each part. */
export function simpleText(
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

/** A query or cookie parameter as its pairs of key and value, not encoded yet. */
export function pairsOf({ name, style, explode }: Given, value: unknown): Array<[string, string]> {
  if (style === 'json') return [[name, JSON.stringify(value)]]
  const text = (item: unknown) => scalarText(name, item)
  if (Array.isArray(value)) {
    if (explode && style === 'form') return value.map((item) => [name, text(item)])
    return [[name, value.map(text).join(SEPARATORS[style] ?? ',')]]
  }
  if (!isObject(value)) return [[name, text(value)]]
  const entries = Object.entries(value)
  if (style === 'deepObject') return entries.map(([key, item]) => [`${name}[${key}]`, text(item)])
  if (explode) return entries.map(([key, item]) => [key, text(item)])
  return [[name, entries.map(([key, item]) => `${key},${text(item)}`).join(',')]]
}

function scalarText(name: string, value: unknown): string {
  if (typeof value === 'object' && value !== null)
    throw new ArgsError(`/${pointerSegment(name)}`, 'is nested too deeply for a parameter')
  return value === null ? '' : String(value)
}
