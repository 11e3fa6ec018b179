import { pointerSegment } from '@parley/shared/json-body'
import type { JsonObject } from '@parley/shared/json-object'
import { alignItems } from '@parley/shared/masked-items'
import { type FieldError, Problem } from '@parley/shared/problem'
import { isSealed, mapSecrets, type SecretBox, type SecretLeaf } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-keys'

// To seal or to open one takes some 60 microseconds, and 5 for each KiB of it.
const IN_DOCUMENT = { where: 'document', secrets: 200, characters: 512 * 1024 }
const IN_IMPORT = { where: 'import', secrets: 2_000, characters: 4 * 1024 * 1024 }

/**
 * What a caller sent with its secrets sealed. One that has not changed, or is masked, stays as it is sealed,
 * so that the same document stays the same; `errors` names the masked ones that have no stored secret, or none that is
 * certain to be theirs.
 */
export function sealFields(options: {
  secrets: SecretBox
  workspace: number
  fields: JsonObject
  /** The stored document, its secrets sealed. */
  current: JsonObject | undefined
}): { fields: JsonObject; errors: FieldError[] } {
  const { secrets, workspace, current } = options
  const errors: FieldError[] = []
  const own = alignItems(options.fields, current, sameSecret(secrets, workspace))
  const fields = mapSecrets(options.fields, (leaf, path) => {
    const stored = leafAt(own, path)
    if (leaf === MASK && stored === undefined) {
      const pointer = path.map((key) => `/${pointerSegment(key)}`).join('')
      errors.push({
        path: pointer,
        code: 'nothing_stored',
        message: `${MASK} keeps a secret, but there is none that is certain to be meant`,
      })
      return leaf
    }
    return sealLeaf({ secrets, workspace, leaf, stored })
  })
  return { fields, errors }
}

/** Whether a secret is the stored one; each is opened once. */
function sameSecret(secrets: SecretBox, workspace: number) {
  const opened = new Map<string, SecretLeaf | undefined>()
  const open = (sealed: string) => {
    if (!opened.has(sealed)) opened.set(sealed, secrets.open(sealed, workspace))
    return opened.get(sealed)
  }
  return (sent: unknown, stored: unknown): boolean =>
    sent === stored || (typeof stored === 'string' && sent === open(stored))
}

function sealLeaf(options: {
  secrets: SecretBox
  workspace: number
  leaf: SecretLeaf
  stored: SecretLeaf | undefined
}): unknown {
  const { secrets, workspace, leaf, stored } = options
  if (typeof stored !== 'string' || !isSealed(stored)) {
    return secrets.seal(leaf === MASK && stored !== undefined ? stored : leaf, workspace)
  }
  const opened = secrets.open(stored, workspace)
  if (leaf !== MASK && leaf !== stored && leaf !== opened) return secrets.seal(leaf, workspace)
  // What can't be opened stays; what another key sealed is sealed again, so that old keys can be removed.
  return opened === undefined || secrets.isCurrent(stored) ? stored : secrets.seal(opened, workspace)
}

function leafAt(root: unknown, path: readonly string[]): SecretLeaf | undefined {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as JsonObject)[key]
  }
  return typeof value === 'object' || value === null ? undefined : (value as SecretLeaf | undefined)
}

/** Throws `validation_failed` for a document with more than 200 secrets, or 524,288 characters of them. */
export function requireFewSecrets(fields: object): void {
  requireAtMost(IN_DOCUMENT, fields)
}

/** Throws `validation_failed` for an import with more than 2,000 secrets, or 4,194,304 characters of them. */
export function requireFewSecretsInImport(resources: object): void {
  requireAtMost(IN_IMPORT, resources)
}

function requireAtMost(most: typeof IN_DOCUMENT, value: object): void {
  let count = 0
  let characters = 0
  mapSecrets(value, (leaf) => {
    count++
    characters += String(leaf).length
    return leaf
  })
  if (count <= most.secrets && characters <= most.characters) return
  const message = `at most ${most.secrets} secrets with ${most.characters} characters are taken in one ${most.where}, and there are ${count} with ${characters}`
  throw new Problem('validation_failed', { errors: [{ path: '', code: 'too_many_secrets', message }] })
}
