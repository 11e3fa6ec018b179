import { Problem } from '@parley/shared/problem'
import type { ResourceDefinition } from '../resources/definition.ts'

/** How a path names a document: by its id, or (configs only) by the key it was created under. */
export type PathId = { id: number; key?: never } | { id?: never; key: string }

const INTEGER = /^(0|[1-9]\d{0,15})$/
const MAX_KEY_CHARACTERS = 128
const NOT_IN_A_KEY = /[/\p{Cc}]/u

/** Reads the (percent-decoded) id of a path. Throws `invalid_id`. */
export function parsePathId(definition: Pick<ResourceDefinition, 'keyed'>, text: string): PathId {
  if (INTEGER.test(text)) {
    const id = Number(text)
    if (Number.isSafeInteger(id)) return { id }
    throw new Problem('invalid_id', { detail: 'An id is at most 2^53-1.' })
  }
  if (!definition.keyed) throw new Problem('invalid_id', { detail: 'An id is an integer.' })
  if (text === '' || [...text].length > MAX_KEY_CHARACTERS || NOT_IN_A_KEY.test(text)) {
    throw new Problem('invalid_id', {
      detail: 'A key has 1 to 128 characters, none of them a slash or a control character.',
    })
  }
  return { key: text }
}
