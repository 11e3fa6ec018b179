import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import express, { type RequestHandler } from 'express'
import { isExactNumber } from './exact-number.ts'
import { findJsonError } from './json-error.ts'
import { pointerSegment } from './json-object.ts'
import { parseExact, withItsKeys } from './parse-json.ts'
import { type FieldError, Problem } from './problem.ts'

/** How deep objects and arrays may nest. */
export const MAX_DEPTH = 32
/** How many members, objects and arrays a body may have together. */
const MAX_MEMBERS = 20_000
/** A member counts once for each so many bytes of its key that are begun: V8 and MongoDB work on every byte of it. */
const KEY_BYTES = 32
/** How many commas it may have: items of arrays cost less than members. */
const MAX_ITEMS = 110_000

/**
 * Reads a JSON body of at most `maxBytes` (after decompression) into `req.body`. Depth and members are checked on the
 * bytes, before anything recurses or grows; a key with NUL and a lone surrogate are refused, because the store
 * could not store them.
 */
export function jsonBody(options: {
  maxBytes: number
  maxMembers?: number
  types?: string[]
}): RequestHandler {
  const types = options.types ?? ['application/json']
  const escaped = new WeakMap<IncomingMessage, Buffer>()
  const long = new WeakMap<IncomingMessage, Buffer>()
  const parse = express.json({
    limit: options.maxBytes,
    strict: false,
    type: types,
    verify: (req, _res, bytes) => {
      refuseWith((given) => checkBytes(given, options.maxMembers), bytes)
      if (bytes.includes(BACKSLASH)) escaped.set(req, bytes)
      if (LONG_INTEGER.test(bytes.toString('latin1'))) long.set(req, bytes)
    },
  })
  return (req, res, next) => {
    const hasBody =
      req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length']) > 0
    if (hasBody && (!req.is(types) || !isUtf8Type(req.headers['content-type'])))
      throw new Problem('unsupported_media_type', { detail: `Send ${types.join(' or ')}.` })
    parse(req, res, (error?: unknown) => {
      if (error !== undefined) return next(bodyProblem(error))
      const bytes = escaped.get(req)
      if (bytes !== undefined) req.body = withItsKeys(textOf(bytes), req.body)
      const digits = long.get(req)
      const rounded = digits === undefined ? [] : roundedIntegers(textOf(digits))
      const fieldErrors = [...unstorable(req.body), ...rounded]
      next(fieldErrors.length > 0 ? new Problem('validation_failed', { errors: fieldErrors }) : undefined)
    })
  }
}

const textOf = (bytes: Buffer): string => bytes.toString().replace(/^\ufeff/, '')

function isUtf8Type(contentType = ''): boolean {
  const charset = /;\s*charset="?([\w-]+)/i.exec(contentType)?.[1]
  return charset === undefined || charset.toLowerCase() === 'utf-8'
}

/** The parser writes a status on what `verify` throws, so a problem travels as the cause of a plain error. */
function refuseWith(check: (bytes: Buffer) => void, bytes: Buffer): void {
  try {
    check(bytes)
  } catch (cause) {
    throw new Error('refused', { cause })
  }
}

/** Maps what the body parser throws to problems; anything else goes on unchanged. */
function bodyProblem(error: unknown): unknown {
  const { type, status, cause } = error as { type?: string; status?: number; cause?: unknown }
  if (cause instanceof Problem) return cause
  if (type === 'entity.too.large') return new Problem('body_too_large')
  if (type === 'entity.parse.failed') return malformedJson(error)
  if (type === 'encoding.unsupported' || type === 'charset.unsupported')
    return new Problem('unsupported_media_type')
  return status !== undefined && status < 500 ? new Problem('malformed_body', { cause: error }) : error
}

/** The parser leaves the text on its error; its depth was checked before. */
function malformedJson(error: unknown): Problem {
  const { body } = error as { body?: unknown }
  const found = typeof body === 'string' ? findJsonError(body) : undefined
  if (found === undefined) return new Problem('malformed_json')
  const { line, column, expected } = found
  const detail = `Line ${line}, column ${column}: expected ${expected}.`
  return new Problem('malformed_json', { detail, extra: { line, column } })
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a

/**
 * Throws when the bytes are not UTF-8, nest deeper than {@link MAX_DEPTH}, or have more members, objects and arrays than `maxMembers`
 * ({@link MAX_MEMBERS} when left out; a long key counts as several), or more than 110,000 items: each costs many times
 * its bytes.
 */
export function checkBytes(bytes: Buffer, maxMembers = MAX_MEMBERS): void {
  let depth = 0
  let members = 0
  let items = 0
  let inString = false
  let stringAt = 0
  let stringBytes = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) {
        inString = false
        stringBytes = i - stringAt
      }
    } else if (byte === QUOTE) {
      inString = true
      stringAt = i
    } else if (byte === COMMA) items++
    else if (byte === COLON) members += Math.ceil(stringBytes / KEY_BYTES)
    else if (byte === 0x7b || byte === 0x5b) {
      members++
      if (++depth > MAX_DEPTH)
        throw new Problem('too_deep', { detail: `At most ${MAX_DEPTH} levels are taken.` })
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  if (members > maxMembers || items > MAX_ITEMS) {
    const detail = `At most ${maxMembers} members, objects and arrays are taken, and ${MAX_ITEMS} items; a member counts once for each ${KEY_BYTES} bytes of its key.`
    throw new Problem('too_many_members', { detail })
  }
  if (!isUtf8(bytes)) throw new Problem('malformed_json', { detail: 'The body is not UTF-8.' })
}

const MAX_FIELD_ERRORS = 20

/**
 * Lists integers of a JSON text that would be stored as other ones, by JSON Pointer; 20 at most. Fractions are taken as
 * the doubles that they are the nearest to.
 */
function roundedIntegers(text: string): FieldError[] {
  return LONG_INTEGER.test(text) ? roundedIn(parseExact(text)) : []
}

/** As {@link roundedIntegers}, of what was parsed by `parseExact`; `path` is where it stands. */
export function roundedIn(value: unknown, path = ''): FieldError[] {
  const fieldErrors: FieldError[] = []
  visitRounded(value, path, fieldErrors)
  return fieldErrors
}

function visitRounded(value: unknown, path: string, fieldErrors: FieldError[]): void {
  if (typeof value !== 'object' || value === null || fieldErrors.length >= MAX_FIELD_ERRORS) return
  if (!isExactNumber(value)) {
    for (const [key, inner] of Object.entries(value))
      visitRounded(inner, `${path}/${pointerSegment(key)}`, fieldErrors)
  } else if (INTEGER.test(value.rawJSON)) fieldErrors.push({ path, code: 'number_inexact', message: ROUNDED })
}

const LONG_INTEGER = /\d{16}/
const INTEGER = /^-?\d+$/
const ROUNDED = 'is an integer that would be changed: send it as a text'

/**
 * Lists strings with lone surrogates, keys with NUL or lone surrogates and numbers beyond a double's range, by
 * JSON Pointer; 20 at most.
 */
export function unstorable(value: unknown): FieldError[] {
  const fieldErrors: FieldError[] = []
  // Paths are put together only where there is something to name.
  if (!isStorable(value)) visit(value, '', fieldErrors)
  return fieldErrors
}

function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(isStorable)
  if (isExactNumber(value)) return Number.isFinite(Number(value.rawJSON))
  const object = value as Record<string, unknown>
  for (const key of Object.keys(object)) {
    if (key.includes('\0') || !key.isWellFormed() || !isStorable(object[key])) return false
  }
  return true
}

function visit(value: unknown, path: string, fieldErrors: FieldError[]): void {
  if (fieldErrors.length >= MAX_FIELD_ERRORS) return
  if (typeof value === 'string') {
    if (!value.isWellFormed())
      fieldErrors.push({ path, code: 'lone_surrogate', message: 'has a lone surrogate' })
  } else if (typeof value === 'number' || isExactNumber(value)) {
    if (!isStorable(value)) fieldErrors.push({ path, code: 'number_too_large', message: 'is out of range' })
  } else if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) visit(value[i], `${path}/${i}`, fieldErrors)
  } else if (typeof value === 'object' && value !== null) {
    for (const key of Object.keys(value)) visitMember(value, key, path, fieldErrors)
  }
}

function visitMember(object: object, key: string, path: string, fieldErrors: FieldError[]): void {
  if (key.includes('\0') || !key.isWellFormed()) {
    fieldErrors.push({ path, code: 'bad_key', message: 'has a key with NUL or a lone surrogate' })
  } else visit((object as Record<string, unknown>)[key], `${path}/${pointerSegment(key)}`, fieldErrors)
}
