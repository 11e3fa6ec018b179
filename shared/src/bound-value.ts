import { type JsonObject, jsonObject, keysOfPointer } from './json-object.ts'
import type { MessageUser } from './providers/address.ts'

/** What says in a spec, or in the config of an action, that a value is set by configuration and not by a model. */
export const BOUND_VALUE = 'x-parley-value'

/** A constant, or a text with variables: `{{person.phone}}`. */
export type BoundValue = string | number | boolean

/** Whom a call is made for: what the variables of a bound value stand for. */
export interface CallContext {
  person: MessageUser & { name?: unknown; email?: unknown; ctx?: unknown }
  thread: { extId: string; ctx?: unknown }
  channel: { _id: number; extId?: string | undefined }
  workspace: { _id: number }
}

const VARIABLES = [
  ...['person.phone', 'person.name', 'person.email', 'person.address', 'person.ctx.<key>'],
  ...['thread.extId', 'thread.ctx.<key>', 'channel.extId', 'channel._id', 'workspace._id'],
] as const

const VARIABLE = /\{\{([^{}]*)\}\}/g
const KNOWN =
  /^(?:person\.(?:phone|name|email|address)|thread\.extId|channel\.(?:extId|_id)|workspace\._id|(?:person|thread)\.ctx(?:\.[^.\s]+)+)$/
const MAX_CHARACTERS = 1_024
const MAX_SHOWN = 100

/** Why nothing can be bound to this; undefined for a {@link BoundValue}. */
export function reasonNotToBind(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return undefined
  if (typeof value !== 'string') return `${BOUND_VALUE} is a text in quotes, a number or a boolean`
  if (value.length > MAX_CHARACTERS) return `${BOUND_VALUE} is longer than ${MAX_CHARACTERS} characters`
  const unknown = variablesIn(value).find((name) => !KNOWN.test(name))
  if (unknown !== undefined)
    return `${shown(`{{${unknown}}}`)} is no variable: there are ${VARIABLES.join(', ')}`
  return /\{\{|\}\}/.test(value.replaceAll(VARIABLE, ''))
    ? `${shown(value)} has braces that are no variable`
    : undefined
}

const variablesIn = (text: string): string[] =>
  [...text.matchAll(VARIABLE)].map(([, name = '']) => name.trim())
const shown = (text: string): string => JSON.stringify(text.slice(0, MAX_SHOWN))

/**
 * What a bound value is in a call. A text that is one variable is what that stands for, of whatever type; `missing`
 * names a variable that stands for nothing.
 */
export function boundTo(value: BoundValue, context: CallContext): { value: unknown } | { missing: string } {
  if (typeof value !== 'string') return { value }
  const names = variablesIn(value)
  const found = new Map(names.map((name) => [name, standsFor(name, context)] as const))
  const missing = names.find((name) => isNothing(found.get(name)))
  if (missing !== undefined) return { missing }
  const [only = ''] = names
  if (names.length === 1 && value.replaceAll(VARIABLE, '').trim() === '') return { value: found.get(only) }
  const nested = names.find((name) => typeof found.get(name) === 'object')
  if (nested !== undefined) return { missing: nested }
  return { value: value.replaceAll(VARIABLE, (_whole, name: string) => String(found.get(name.trim()))) }
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

function standsFor(name: string, context: CallContext): unknown {
  if (name === 'person.address') return own(own(context.person, 'addresses'), '0')
  return name.split('.').reduce<unknown>(own, context)
}

function own(value: unknown, key: string): unknown {
  const has = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  return has ? (value as Record<string, unknown>)[key] : undefined
}

const MAX_ERRORS = 20

/**
 * What of a spec's values can't be bound, as far as its text shows that: where a key is written as such, with its value
 * on the same line. 20 at most.
 */
export function boundErrorsIn(spec: string): string[] {
  const errors = new Set<string>()
  for (const [, written = ''] of spec.matchAll(WRITTEN)) {
    const reason = written.startsWith('{') ? reasonNotToBind({}) : reasonNotToBind(unquoted(written))
    if (reason !== undefined) errors.add(reason)
    if (errors.size >= MAX_ERRORS) break
  }
  return [...errors]
}

const WRITTEN =
  /["']?x-parley-value["']?[ \t]*:[ \t]*("[^"\n]*"|'[^'\n]*'|\{[^\n,]*|[^\s&*!|>"'{][^\n,}\]]*)/g

function unquoted(written: string): unknown {
  const text = written.trim()
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text
}

/** Why one of the values that a parsed spec binds can't be bound; undefined where all can. */
export function reasonNotToBindIn(document: unknown): string | undefined {
  const seen = new Set<unknown>()
  const waiting = [document]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null || seen.has(next)) continue
    seen.add(next)
    const isBound = Object.hasOwn(next, BOUND_VALUE)
    const reason = isBound ? reasonNotToBind((next as JsonObject)[BOUND_VALUE]) : undefined
    if (reason !== undefined) return reason
    for (const one of Object.values(next)) waiting.push(one)
  }
  return undefined
}

/** A place in the arguments of an operation or tool that configuration sets; `*` stands for each item of a list. */
export interface Binding {
  path: readonly string[]
  value: BoundValue
}

/** What a config of an action binds: for the operation of that id, else for each that has such an argument. */
export interface ConfiguredBinding extends Binding {
  operation?: string
}

const MAX_BINDINGS = 100
const MAX_SEGMENTS = 20

/**
 * Reads what stands under {@link BOUND_VALUE} in a config: `{customer: …, '/payment/phone': …, <operation>: {…}}`.
 * Where it can't be read, the key and the reason.
 */
export function readBindings(given: unknown): ConfiguredBinding[] | { key: string; reason: string } {
  if (!isObject(given)) return { key: '', reason: 'is no object of what is bound, by the names of arguments' }
  const read: ConfiguredBinding[] = []
  for (const [key, value] of Object.entries(given)) {
    const ofOne = isObject(value)
    for (const [name, one] of ofOne ? Object.entries(value) : [[key, value] as const]) {
      const path = name.startsWith('/') ? keysOfPointer(name) : [name]
      const reason = reasonNotToBind(one) ?? reasonOfSize(read.length, path)
      if (reason !== undefined) return { key: name, reason }
      read.push({ path, value: one as BoundValue, ...(ofOne && { operation: key }) })
    }
  }
  return read
}

function reasonOfSize(count: number, path: readonly string[]): string | undefined {
  if (count >= MAX_BINDINGS) return `${BOUND_VALUE} has more than ${MAX_BINDINGS} values`
  return path.length > MAX_SEGMENTS
    ? `${BOUND_VALUE} has a place of more than ${MAX_SEGMENTS} levels`
    : undefined
}

const isObject = (value: unknown): value is JsonObject => jsonObject.safeParse(value).success
