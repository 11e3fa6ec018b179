import { pointerSegment } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { z } from 'zod'
import type { AttributeType, AttributeTypes } from './attribute-store.ts'

export type AttributeValue = string | number | boolean

/** How long a text may be. */
const MAX_TEXT = 1_000

const SCHEMAS: Record<AttributeType, z.ZodType<AttributeValue>> = {
  text: z
    .string({ error: 'is not a text' })
    .max(MAX_TEXT, { error: `is longer than ${MAX_TEXT} characters` }),
  number: z.number({ error: 'is not a number' }),
  boolean: z.boolean({ error: 'is neither true nor false' }),
  date: z.iso.date({ error: 'is not a date such as 2026-05-31' }),
}

/** The errors of values that were given for attributes; null takes a value away, where that `isPatch`. */
export function attributeErrors(
  types: AttributeTypes,
  given: Readonly<Record<string, unknown>>,
  { isPatch = false }: { isPatch?: boolean } = {},
): FieldError[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (isPatch && value === null) return []
    const message = errorOf(types.get(name), value)
    return message === undefined ? [] : [{ path: `/attributes/${pointerSegment(name)}`, ...message }]
  })
}

function errorOf(type: AttributeType | undefined, value: unknown): Omit<FieldError, 'path'> | undefined {
  if (type === undefined)
    return { code: 'unknown_attribute', message: 'is not an attribute of this workspace' }
  const { error } = SCHEMAS[type].safeParse(value)
  const [issue] = error?.issues ?? []
  return issue && { code: 'invalid_attribute', message: issue.message }
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/** The value that a text of a file stands for; undefined where it stands for none of its type. */
export function attributeOfText(type: AttributeType, text: string): AttributeValue | undefined {
  if (type === 'number') return NUMBER.test(text) ? Number(text) : undefined
  if (type === 'text') return text.length > MAX_TEXT ? undefined : text
  const value = type === 'boolean' ? BOOLEANS.get(text.toLowerCase()) : text
  return SCHEMAS[type].safeParse(value).data
}
