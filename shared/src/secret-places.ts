import { isSecretKey } from './secret-keys.ts'
import { areHeaders, isCredentialsName, secretByName } from './secret-names.ts'
import { isWholeUrl, looksLikeKey, type SecretPart, secretPartsOfUrl } from './secret-urls.ts'
import { secretPartsOfSpec } from './spec-servers.ts'

/**
 * What of a value is secret, by where it lies:
 * `document` – a configuration document: what its fields say.
 * `settings`, `deeper` – free-form settings, at their top and below: what the names say, and parts of URLs.
 * `state` – what a conversation has: the settled names alone.
 * `url`, `spec` – a URL, an OpenAPI document: parts of the text.
 * `texts`, `scalars`, `all` – texts; texts and numbers; everything.
 */
export type Reach =
  | 'document'
  | 'settings'
  | 'deeper'
  | 'state'
  | 'url'
  | 'spec'
  | 'texts'
  | 'scalars'
  | 'all'

/**
 * Fields of documents, of whichever resource; of the others texts under a settled name are secret. (The `token` of a
 * subscription is the id of one.)
 */
const FIELDS = new Map<string, Reach>([
  ['config', 'settings'],
  ['context', 'state'],
  ['handlerUrl', 'url'],
  ['moduleUrl', 'url'],
  ['url', 'url'],
  ['spec', 'spec'],
  ['signingSecret', 'all'],
])

/** The reach of a member of an object, or of an item of an array, which has that of the array. */
export function reachOfMember(parent: object, key: string, reach: Reach): Reach {
  switch (reach) {
    case 'document':
      if (key === 'value') return reachOfValue(parent)
      return FIELDS.get(key) ?? (isSecretKey(key) ? 'texts' : 'document')
    case 'settings':
      return reachInSettings(parent, key) ?? (isNameOfUrl(key) ? 'url' : 'deeper')
    case 'deeper':
      return reachInSettings(parent, key) ?? 'deeper'
    case 'state':
      return isSecretKey(key) ? 'all' : 'state'
    case 'texts':
    case 'scalars':
      return secretByName(key) === 'all' ? 'all' : reach
    case 'all':
      return 'all'
    default:
      return 'deeper'
  }
}

function reachOfValue(parent: object): Reach {
  return isCredentialsName((parent as { name?: unknown }).name) ? 'all' : 'settings'
}

function reachInSettings(parent: object, key: string): Reach | undefined {
  if (areHeaders(key)) return 'all'
  return secretByName(key) ?? (key === 'value' && isNamedSecret(parent) ? 'scalars' : undefined)
}

/** A setting that is written as a name and a value. */
function isNamedSecret(parent: object): boolean {
  const { name, key } = parent as { name?: unknown; key?: unknown }
  return [name, key].some((one) => typeof one === 'string' && secretByName(one) !== undefined)
}

const isNameOfUrl = (key: string): boolean => /(?:ur[il]|endpoint)$/i.test(key)

/** Whether a value that is neither object nor array is secret as a whole. */
export function isSecretLeaf(leaf: unknown, reach: Reach): boolean {
  if (reach === 'all') return true
  return typeof leaf === 'string'
    ? reach === 'texts' || reach === 'scalars'
    : reach === 'scalars' && typeof leaf === 'number'
}

/** The secret parts of a text that is not secret as a whole, in their sequence. */
export function secretPartsOf(text: string, reach: Reach): SecretPart[] {
  switch (reach) {
    case 'url':
      return secretPartsOfUrl(text)
    case 'settings':
    case 'deeper':
      return /[@?#]/.test(text) && isWholeUrl(text) ? secretPartsOfUrl(text, looksLikeKey) : []
    case 'spec':
      return secretPartsOfSpec(text)
    default:
      return []
  }
}
