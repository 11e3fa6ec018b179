import { jsonObject } from '@parley/shared/json-object'

const MAX_BYTES = 2_048

/** A free-form object of at most 2 KiB as JSON: it travels with every request of the account. */
export const smallContext = jsonObject.refine(
  (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_BYTES,
  {
    error: `has more than ${MAX_BYTES} bytes`,
  },
)
