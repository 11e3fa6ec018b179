import { checkBytes } from '@parley/shared/json-body'
import { Problem } from '@parley/shared/problem'

/**
 * Parses JSON whose depth was checked before anything recurses; undefined for an empty body. Throws `too_deep`
 * and `malformed_json`.
 */
export function parseJson(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined
  checkBytes(bytes)
  try {
    return JSON.parse(bytes.toString())
  } catch (cause) {
    throw new Problem('malformed_json', { cause })
  }
}
