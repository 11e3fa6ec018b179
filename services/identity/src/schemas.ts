import { jsonObject, safeInteger } from '@parley/shared/json-object'
import { escapeKeys } from '@parley/shared/safe-keys'
import { z } from 'zod'

export const AT = '2026-11-20T11:36:37.235Z'
export const EXAMPLE_PASSWORD = 'correct horse battery staple'
export const id = safeInteger
export const time = z.iso.datetime()
export const times = { createdAt: time, updatedAt: time }
export const timesExample = { createdAt: AT, updatedAt: AT }

/** The header of a response that must stay out of caches. */
export const NO_STORE = [{ name: 'Cache-Control', description: '`no-store`' }]

const MAX_CONTEXT_BYTES = 2_048

/**
 * A free-form object of at most 2 KiB as JSON: it travels with every request of the account. Parsed, it is as it is
 * stored.
 */
export const smallContext = jsonObject
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_CONTEXT_BYTES, {
    error: `has more than ${MAX_CONTEXT_BYTES} bytes`,
  })
  .transform((value) => escapeKeys(value))

/** How large a body below `/api/auth` may be, and one below `/rest`. */
export const AUTH_BODY_BYTES = 64 * 1024
export const REST_BODY_BYTES = 4 * 1024 * 1024

export const MERGE_PATCH = ['application/json', 'application/merge-patch+json']
