import { jsonObject } from '@parley/shared/json-object'
import { escapeKeys } from '@parley/shared/safe-keys'

const MAX_BYTES = 2_048

/**
 * A free-form object of at most 2 KiB as JSON: it travels with every request of the account. Parsed, it is as it is
 * stored; mongoose drops some of its keys, so it takes the driver to write it.
 */
export const smallContext = jsonObject
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES, {
    error: `has more than ${MAX_BYTES} bytes`,
  })
  .transform((value) => escapeKeys(value))
