import type { Method, Operator } from './expression.ts'

/** The values that can equal something: null, booleans, numbers and strings. */
export function isScalar(value: unknown): value is null | boolean | number | string {
  return value === null || ['boolean', 'number', 'string'].includes(typeof value)
}

/** Same type and same value. A missing value, an array, an object or a date equals nothing, itself included. */
export function equal(left: unknown, right: unknown): boolean {
  return isScalar(left) && left === right
}

/** False for a missing value, null, false, 0 and the empty string. */
export const truthy = (value: unknown): boolean => Boolean(value)

/** `==` as in `equal`; an order exists between two numbers and between two strings (by code point). */
export function compare(operator: Operator, left: unknown, right: unknown): boolean {
  if (operator === '==') return equal(left, right)
  const comparison = compareValues(left, right)
  if (comparison === undefined) return false
  if (operator === '<') return comparison < 0
  if (operator === '<=') return comparison <= 0
  return operator === '>' ? comparison > 0 : comparison >= 0
}

function compareValues(left: unknown, right: unknown): number | undefined {
  if (typeof left === 'number' && typeof right === 'number') return left < right ? -1 : left > right ? 1 : 0
  if (typeof left === 'string' && typeof right === 'string') return compareCodePoints(left, right)
  return undefined
}

/** MongoDB compares UTF-8 bytes, which is the order of code points; JavaScript's `<` compares UTF-16 units. */
function compareCodePoints(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at++) {
    const [a, b] = [left.charCodeAt(at), right.charCodeAt(at)]
    if (a !== b) return codePointRank(a) - codePointRank(b)
  }
  return left.length - right.length
}

/** A surrogate stands for a code point above every other unit's. */
const codePointRank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/**
 * `indexOf` counts code points in strings. On what is neither string nor array the result is missing (so is
 * `startsWith` on an array); `in` is true only for an array that holds the item. Nothing is coerced.
 */
export function call(method: Method, target: unknown, argument: unknown): unknown {
  if (method === 'in') return Array.isArray(target) && itemIndex(target, argument) >= 0
  if (typeof target === 'string') return callOnString(method, target, argument)
  if (!Array.isArray(target) || method === 'startsWith') return undefined
  const index = itemIndex(target, argument)
  return method === 'includes' ? index >= 0 : index
}

function callOnString(method: Method, target: string, argument: unknown): boolean | number {
  if (typeof argument !== 'string') return method === 'indexOf' ? -1 : false
  if (method === 'startsWith') return target.startsWith(argument)
  const units = target.indexOf(argument)
  return method === 'includes' ? units >= 0 : codePointsBefore(target, units)
}

/** How many code points stand before a place given in UTF-16 units; a place that is not there stays -1. */
function codePointsBefore(text: string, units: number): number {
  let pairs = 0
  for (let at = 0; at < units; at++) if (text.codePointAt(at) !== text.charCodeAt(at)) pairs++
  return units - pairs
}

const itemIndex = (items: readonly unknown[], item: unknown): number =>
  items.findIndex((candidate) => equal(candidate, item))

/** The value at the end of the path: own properties of plain objects only, undefined when it leads nowhere. */
export function valueAt(start: unknown, keys: readonly string[]): unknown {
  let value = start
  for (const key of keys) {
    if (!isPlainObject(value) || !Object.hasOwn(value, key)) return undefined
    value = value[key]
  }
  return value
}

/** Its prototype is none or some realm's Object.prototype; arrays, dates and BSON types are not plain. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/**
 * True when what an entry's `read` or `write` came to lets the caller in: `true`, the workspace's id or an
 * array that holds it. A workspace's id is a number other than 0; without one only `true` does.
 */
export function grants(value: unknown, workspace: number | undefined): boolean {
  if (value === true) return true
  if (workspace === undefined) return false
  return Array.isArray(value) ? value.includes(workspace) : value === workspace
}

/** The id of the account's workspace, when it has a usable one. */
export function workspaceOf(account: object): number | undefined {
  const id = valueAt(account, ['workspace', '_id'])
  return typeof id === 'number' && id !== 0 && !Number.isNaN(id) ? id : undefined
}
