import { mapSecrets } from '@parley/shared/map-secrets'
import { alignItems, secretAt } from '@parley/shared/masked-items'
import { MASK } from '@parley/shared/secret-keys'

/** Which field of a document a value is, and what the document is named: the value of a config may be secret as a whole. */
interface Field {
  field: string
  name: unknown
}

const SETTINGS: Field = { field: 'config', name: undefined }

/** A field with every secret in it masked, so that none is on the screen by accident. */
export function mask(value: unknown, of: Field = SETTINGS): unknown {
  return mapSecrets(documentWith(value, of), () => MASK)[of.field]
}

/** What was typed, with the secrets of `before` where the mask was left and it is certain which was meant. */
export function unmask(typed: unknown, before: unknown, of: Field = SETTINGS): unknown {
  const [now, then] = [documentWith(typed, of), documentWith(before, of)]
  const own = alignItems(now, then, (one, other) => one === other)
  return mapSecrets(now, (leaf, place) => (leaf === MASK ? (secretAt(own, place) ?? leaf) : leaf))[of.field]
}

const documentWith = (value: unknown, { field, name }: Field): Record<string, unknown> => ({
  name,
  [field]: value,
})
