import { checkBytes } from '@parley/shared/json-body'
import { parseJson } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'

/**
 * Parses JSON whose depth was checked before anything recurses; undefined for an empty body. Throws `too_deep`,
 * `too_many_members` and `malformed_json`.
 */
export function parseBytes(bytes: Buffer, maxMembers?: number): unknown {
  if (bytes.length === 0) return undefined
  checkBytes(bytes, maxMembers)
  try {
    return parseJson(bytes.toString())
  } catch (cause) {
    throw new Problem('malformed_json', { cause })
  }
}
