import { areHeaders, MASK, secretByName } from './secret-names.ts'

/** A part of a text that is secret: user information of a URL, or what follows its path. */
export interface SecretPart {
  kind: 'user' | 'query'
  from: number
  to: number
  /** Scheme and host of the URL: a secret is for these alone. */
  origin: string
}

/** The beginning of a sealed text. */
export const SEALED_PREFIX = 'sealed:'

const MAX_QUERY = 4_096
const LEAST_RANDOM = 16
const KEY_PARAMETERS = new Set([
  'k',
  'key',
  'sig',
  'signature',
  'code',
  'hmac',
  'pw',
  'access',
  'subscription-key',
])
/** Web schemes with or without slashes, any other with two of them: `native:agents/echo` and `mailto:` are no such URL. */
const SCHEME = /^[\0- ]*(?:(?:https?|wss?|ftp):[\\/\t\r\n]*|[a-z][a-z\d+.-]{0,39}:\/\/)/i

/** The secret parts of a URL: user information, and the query and fragment, where `isSecretQuery` of them. */
export function secretPartsOfUrl(
  text: string,
  isSecretQuery: (query: string) => boolean = () => true,
): SecretPart[] {
  const [scheme = ''] = SCHEME.exec(text) ?? []
  if (scheme === '') return []
  const query = firstOf(text, '?#', scheme.length)
  const path = Math.min(firstOf(text, '/\\', scheme.length), query)
  const at = text.lastIndexOf('@', path - 1)
  const host = at < scheme.length ? scheme.length : at + 1
  const origin = `${scheme}${text.slice(host, path)}`.toLowerCase()
  const parts: SecretPart[] = []
  if (host > scheme.length + 1) parts.push({ kind: 'user', from: scheme.length, to: at, origin })
  if (query + 1 < text.length && isSecretQuery(text.slice(query + 1)))
    parts.push({ kind: 'query', from: query + 1, to: text.length, origin })
  return parts
}

function firstOf(text: string, characters: string, from: number): number {
  const found = [...characters].map((one) => text.indexOf(one, from)).filter((at) => at >= 0)
  return found.length === 0 ? text.length : Math.min(...found)
}

/** True when a text as a whole is a URL, and no sentence that begins with one. */
export const isWholeUrl = (text: string): boolean => SCHEME.test(text) && !/\s/.test(text.trim())

/** True when what is after the `?` of a URL looks like a key: by a parameter's name, or by a value that seems random. */
export function looksLikeKey(query: string): boolean {
  if (query.length > MAX_QUERY || query === MASK || query.startsWith(SEALED_PREFIX)) return true
  for (const pair of query.split(/[&;#]/)) {
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    if (value === '' ? isRandom(name) : isKeyName(name) || isRandom(value)) return true
  }
  return false
}

const isKeyName = (name: string): boolean =>
  KEY_PARAMETERS.has(name.toLowerCase()) || secretByName(name) !== undefined || areHeaders(name)

/** Letters and digits without a word's gaps. */
const isRandom = (value: string): boolean =>
  value.length >= LEAST_RANDOM && /^[\w\-.~+/=%]+$/.test(value) && /\d/.test(value) && /[a-z]/i.test(value)
