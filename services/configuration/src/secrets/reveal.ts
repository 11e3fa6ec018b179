import { isSecretKey, MASK, mapSecrets, openSecrets, type SecretBox } from '@parley/shared/sealed-value'

/** How a stored document is shown: to those who may write it with its secrets, to others with them masked. */
export interface Reveal {
  secrets: Pick<SecretBox, 'open'>
  workspace: number
  writable: boolean
}

export function reveal<T>(doc: T, { secrets, workspace, writable }: Reveal): T {
  return writable ? openSecrets(doc, secrets, workspace) : mapSecrets(doc, () => MASK)
}

/** One value out of a document, by where it lies (a JSON Pointer). */
export function revealAt<T>(path: string, value: T, options: Reveal): T {
  // Wrapped in the key that makes it secret, where one of those above it does.
  const key = path.split('/').find(isSecretKey)
  if (key === undefined) return reveal(value, options)
  return reveal({ [key]: value }, options)[key] as T
}
