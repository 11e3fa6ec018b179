import type { Authorizer } from '@parley/shared/authorizer'
import type { Caller } from '@parley/shared/internal-token'
import { MASK, mapSecrets, type SecretBox } from '@parley/shared/sealed-value'
import { allows } from '../access/access.ts'
import type { ResourceName } from '../resources/definition.ts'
import type { LiveDocument, ResourceDocument } from '../store/stored-document.ts'
import { reveal } from './reveal.ts'

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
