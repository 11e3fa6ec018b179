import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { allows } from '@parley/shared/permission/decide'
import { mapSecrets, openSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { isSecretKey, MASK } from '@parley/shared/secret-keys'
import type { ResourceName } from '../resources/definition.ts'
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

/** Whether a document as it is shown has a masked secret. */
export function isMasked(shown: ResourceDocument): boolean {
  let masked = false
  mapSecrets(shown, (leaf) => {
    masked ||= leaf === MASK
    return leaf
  })
  return masked
}

/** How a stored document is shown: to those who may write it with its secrets, to others with them masked. */
export interface Reveal {
  secrets: Pick<SecretBox, 'open'>
  workspace: number
  writable: boolean
}

function reveal<T>(doc: T, { secrets, workspace, writable }: Reveal): T {
  return writable ? openSecrets(doc, secrets, workspace) : mapSecrets(doc, () => MASK)
}

/** One value out of a document, by where it lies (a JSON Pointer). */
export function revealAt<T>(path: string, value: T, options: Reveal): T {
  // Wrapped in the key that makes it secret, where one of those above it does.
  const key = path.split('/').find(isSecretKey)
  if (key === undefined) return reveal(value, options)
  return reveal({ [key]: value }, options)[key] as T
}
