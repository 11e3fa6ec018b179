import { type JsonObject, pointerSegment } from '@parley/shared/json-object'
import { isSettled, mapSecrets, type SecretLeaf, type SecretPlace } from '@parley/shared/map-secrets'
import { alignItems, secretAt } from '@parley/shared/masked-items'
import { type FieldError, Problem } from '@parley/shared/problem'
import { isSealed, type SecretBox } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'

// To seal or to open one takes some 60 microseconds, and 5 for each KiB of it.
const IN_DOCUMENT = { where: 'document', secrets: 1_000, characters: 512 * 1024 }
const IN_IMPORT = { where: 'import', secrets: 10_000, characters: 4 * 1024 * 1024 }

/** Seals and opens secrets of documents. */
export interface DocumentSecrets extends SecretBox {
  /**
   * Whether every secret is sealed. As long as a service of the release before may read what is written, those are not that
   * it can't open.
   */
  sealsAll(): boolean
}

/**
 * What a caller sent with its secrets sealed. One that has not changed, or is masked, stays as it is sealed,
 * so that the same document stays the same; `errors` names the masked ones that have no stored secret, or none that is
 * certain to be theirs, and URLs with user information that was not stored before.
 */
export function sealFields(options: {
  secrets: DocumentSecrets
  workspace: number
  fields: JsonObject
  /** The stored document, its secrets sealed. */
  current: JsonObject | undefined
}): { fields: JsonObject; errors: FieldError[] } {
  const { secrets, workspace, current } = options
  const errors: FieldError[] = []
  const isSame = sameSecret(secrets, workspace)
  const own = alignItems(options.fields, current, isSame)
  const fields = mapSecrets(options.fields, (leaf, place) => {
    const stored = secretAt(own, place) as SecretLeaf | null | undefined
    const error = errorOf({ leaf, place, stored, isSame })
    if (error !== undefined) {
      errors.push({ path: place.path.map((key) => `/${pointerSegment(key)}`).join(''), ...error })
      return leaf
    }
    if (!secrets.sealsAll() && !isSettled(place)) return opened({ secrets, workspace, leaf, stored })
    return sealLeaf({ secrets, workspace, leaf, stored: stored ?? undefined })
  })
  return { fields, errors }
}

function errorOf(options: {
  leaf: SecretLeaf
  place: SecretPlace
  stored: unknown
  isSame(sent: unknown, stored: unknown): boolean
}): Omit<FieldError, 'path'> | undefined {
  const { leaf, place, stored, isSame } = options
  if (leaf === MASK && stored == null) {
    const message = `${MASK} keeps a secret, but there is none that is certain to be meant`
    return { code: 'nothing_stored', message }
  }
  const { reach, part } = place
  if (part?.kind !== 'user' || leaf === MASK || isSame(leaf, stored)) return undefined
  // Of free-form settings only what may be called is known to be for us.
  if (reach !== 'url' && reach !== 'spec' && !/^\s*(?:https?|wss?):/.test(part.origin)) return undefined
  const message =
    'a URL has no user information: put it into a config named credentials for an action, or check the signature of what is posted'
  return { code: 'user_information', message }
}

/** As it was sent, or as it is stored where it was masked. */
function opened(options: {
  secrets: SecretBox
  workspace: number
  leaf: SecretLeaf
  stored: SecretLeaf | null | undefined
}): unknown {
  const { secrets, workspace, leaf, stored } = options
  if (leaf !== MASK) return leaf
  return typeof stored === 'string' && isSealed(stored) ? (secrets.open(stored, workspace) ?? stored) : stored
}

/** Returns a function that is true if a secret is the stored one; each is opened once. */
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
  // Secrets that can't be opened stay; those of another key are sealed again, so that old keys can be removed.
  return opened === undefined || secrets.isCurrent(stored) ? stored : secrets.seal(opened, workspace)
}

/** Throws `validation_failed` for a document with more than 1,000 secrets, or 524,288 characters of them. */
export function requireFewSecrets(fields: object): void {
  requireAtMost(IN_DOCUMENT, fields)
}

/** Throws `validation_failed` for an import with more than 10,000 secrets, or 4,194,304 characters of them. */
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
