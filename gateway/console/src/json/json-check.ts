import { nearest } from '@parley/shared/nearest'
import { t } from '../language.ts'
import { type Schema, withoutNull } from '../schema.ts'
import { syntaxProblem } from './json-syntax.ts'

/** The settings that are read in an object, by their names. */
export type KnownSettings = Readonly<Record<string, Schema>>

/** Returns the problem of JSON as it is typed: its syntax, a setting that resembles a known one, or its value. */
export function problemOfJson(
  text: string,
  { isList = false, known = {} }: { isList?: boolean; known?: KnownSettings } = {},
): string | undefined {
  const syntax = syntaxProblem(text)
  if (syntax !== undefined) return syntax
  const value: unknown = JSON.parse(text)
  if (isList) return Array.isArray(value) ? undefined : t('It has to be a list, in brackets.')
  if (!isObject(value)) return t('It has to be an object, in braces.')
  return Object.entries(value).flatMap(([name, one]) => problemOfSetting(name, one, known) ?? [])[0]
}

function problemOfSetting(name: string, value: unknown, known: KnownSettings): string | undefined {
  const names = Object.keys(known)
  const schema = known[name]
  if (schema !== undefined) return isOf(value, schema) ? undefined : mistaken(name, schema)
  const near = names.length === 0 ? undefined : nearest(name, names)
  return near === undefined ? undefined : t('Nothing reads {name}. Is {near} meant?', { name, near })
}

/** True if a value fits the schema as far as that is known: the API checks the rest. */
function isOf(value: unknown, of: Schema): boolean {
  const { schema, nullable } = withoutNull(of)
  if (value === null) return nullable
  if (schema.enum) return schema.enum.includes(value)
  switch (schema.type) {
    case 'integer':
    case 'number':
      return (
        typeof value === 'number' &&
        (schema.type === 'number' || Number.isInteger(value)) &&
        value >= (schema.minimum ?? -Infinity) &&
        value <= (schema.maximum ?? Infinity)
      )
    case 'string':
    case 'boolean':
      return typeof value === schema.type
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    default:
      return true
  }
}

function mistaken(name: string, of: Schema): string {
  const { type, enum: values, minimum, maximum } = withoutNull(of).schema
  if (values) return t('{name} has to be one of {values}.', { name, values: values.join(', ') })
  if (type === 'boolean') return t('{name} has to be true or false.', { name })
  if (type === 'array') return t('{name} has to be a list.', { name })
  if (type === 'object') return t('{name} has to be an object.', { name })
  if (type === 'string') return t('{name} has to be a text.', { name })
  if (minimum !== undefined && maximum !== undefined && Number.isSafeInteger(maximum + 1))
    return t('{name} has to be a number of {minimum} to {maximum}.', { name, minimum, maximum })
  return t('{name} has to be a number.', { name })
}

/** The names that can still be set in what is typed; none where it is no object. */
export function unsetOf(text: string, known: KnownSettings): string[] {
  const value = objectIn(text)
  return value === undefined ? [] : Object.keys(known).filter((name) => !Object.hasOwn(value, name))
}

/** Returns the typed text with one setting more, and the position of its value in it. */
export function withSetting(
  text: string,
  name: string,
  of: Schema,
): { text: string; from: number; to: number } {
  const value = JSON.stringify({ ...objectIn(text), [name]: valueFor(of) }, null, 2)
  return { text: value, from: value.lastIndexOf(`"${name}": `) + name.length + 4, to: value.length - 2 }
}

/** A value to begin with. */
function valueFor(of: Schema): unknown {
  const { type, enum: values, minimum } = withoutNull(of).schema
  if (values) return values[0]
  if (type === 'integer' || type === 'number') return Math.max(minimum ?? 0, 0)
  if (type === 'boolean') return true
  if (type === 'array') return []
  return type === 'object' ? {} : ''
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
