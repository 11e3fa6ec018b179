import type { Authorizer } from '@parley/shared/authorizer'
import type { ResourceName } from '@parley/shared/configuration-resources'
import type { Caller } from '@parley/shared/internal-token'
import { keysOfPointer } from '@parley/shared/json-object'
import { mapSecrets } from '@parley/shared/map-secrets'
import { allows } from '@parley/shared/permission/decide'
import { isSealed, openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { MASK } from '@parley/shared/secret-names'
import { type Reach, reachOfMember } from '@parley/shared/secret-places'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'

/** Shows a stored document of one resource as its caller may see it. */
export type Present = (doc: ResourceDocument) => ResourceDocument

export async function presenterFor(
  options: { authorizer: Authorizer; secrets: Pick<SecretBox, 'open'>; caller: Caller },
  resource: ResourceName,
): Promise<Present> {
  const { authorizer, secrets, caller } = options
  const write = await authorizer.decide(caller, resource, 'write')
  const workspace = caller.workspace._id
  return (doc) => reveal(doc, { secrets, workspace, writable: allows(write, doc) })
}

/** Shows it as to one who may only read it. */
export const maskSecrets: Present = (doc) => mapSecrets(doc, () => MASK)

/** The document as it was written: its writer may see all of it. */
export function presentWritten(secrets: Pick<SecretBox, 'open'>, workspace: number, written: LiveDocument) {
  return { version: written.version, doc: reveal(written.doc, { secrets, workspace, writable: true }) }
}

/** How what is shown may be cached: not at all where it has a secret in plain text. */
export const cachingOf = (shown: unknown): string => (hasSecret(shown) ? 'no-store' : 'private, no-cache')

function hasSecret(shown: unknown): boolean {
  let found = false
  mapSecrets(shown, (leaf) => {
    found ||= leaf !== MASK
    return leaf
  })
  return found
}

/** True if a document as it is shown has a masked secret. */
export function isMasked(shown: ResourceDocument): boolean {
  let masked = false
  mapSecrets(shown, (leaf) => {
    masked ||= leaf === MASK
    return leaf
  })
  return masked
}

/** How a stored document is shown: to those who may write it with its secrets, to others with them masked. */
interface Reveal {
  secrets: Pick<SecretBox, 'open'>
  workspace: number
  writable: boolean
}

function reveal<T>(doc: T, { secrets, workspace, writable }: Reveal): T {
  return writable ? openSecrets(doc, secrets, workspace) : mapSecrets(doc, () => MASK)
}

/**
 * One value out of a document, by where it lies (a JSON Pointer). What is sealed is secret, wherever it lies: the name by
 * which it was may have changed.
 */
export function revealAt<T>(
  path: string,
  value: T,
  { secrets, workspace, writable, isCredentials }: Reveal & { isCredentials: boolean },
): T {
  const reach = reachAt(path, isCredentials)
  if (writable) return openSecrets(openSecrets(value, secrets, workspace, { reach }), secrets, workspace, ALL)
  const masked = mapSecrets(value, () => MASK, { reach })
  return mapSecrets(masked, (leaf) => (typeof leaf === 'string' && isSealed(leaf) ? MASK : leaf), ALL)
}

const ALL = { reach: 'all' } as const

/** Returns the secret part at a place of a document; `isCredentials` is true for a config that is secret as a whole. */
export function reachAt(path: string, isCredentials: boolean): Reach {
  const name = isCredentials ? CREDENTIALS : ''
  return keysOfPointer(path).reduce<Reach>((reach, key) => reachOfMember({ name }, key, reach), 'document')
}

const CREDENTIALS = 'credentials'
