import { isProviderSecret } from './providers/registry.ts'

/** The text that callers see in the place of a secret that is not theirs to see. */
export const MASK = '••••'

/**
 * The settled names, beside those of the providers' secrets: everything under these keys is secret, at whatever depth they
 * and it are.
 */
const SECRET_KEYS = new Set([
  ...['accessToken', 'signingSecrets', 'signingSecret', 'apiKey', 'credentials'],
  ...['password', 'token', 'clientSecret', 'secret'],
])

/** The secret part of a value by the name it stands under: all of it, its texts and numbers, or its texts alone. */
type NamedSecret = 'all' | 'scalars' | 'texts'

const MAX_CHARACTERS = 200

/** Passwords may be numbers, so a number under such a name is one. */
const PASSWORDS = 'password passwd passphrase passcode pwd pass senha contrasena contraseña'.split(' ')
/** Numbers under these names count or limit something. */
const TOKENS = 'token secret authorization auth cookie credential bearer apikey jwt'.split(' ')
/** A key is secret by the word before it. */
const KINDS_OF_KEY = new Set(
  'api private access secret signing signature encryption decryption client auth master service account shared hmac subscription app application license deploy ssh server webhook admin bot function functions storage session x'.split(
    ' ',
  ),
)
const GLUED =
  /(?:token|secret|password|passwd|passphrase|(?:api|private|access|secret|signing|encryption)key|authorization|credential)s?$/
const GLUED_PASSWORD = /(?:password|passwd|passphrase)s?$/

/** They say which of several it is, or its form. */
const QUALIFIERS = new Set(
  'value current previous old new next primary secondary prod production test live staging sandbox header hash base64 b64 hex raw plain string text encrypted'.split(
    ' ',
  ),
)
/** Words for what is counted or bounded in tokens, and marks of texts that are made of tokens. */
const COUNTED = new Set(
  'max min input output history daily monthly prompt completion total reasoning thinking cached context used budget stop pad eos bos page'.split(
    ' ',
  ),
)

const known = new Map<string, NamedSecret | undefined>()
const MAX_KNOWN = 10_000

/**
 * The secret part under a key of free-form settings, by the words of the key: `apiKey`, `X-API-KEY`, `db_password`,
 * `SLACK_TOKEN`. Undefined for `tokenType`, `maxOutputTokens`, `secretary`, `passwordMinLength`. Without
 * dependencies, so that the console's bundle has it too.
 */
export function secretByName(key: string): NamedSecret | undefined {
  if (known.has(key)) return known.get(key)
  const found = read(key)
  if (known.size >= MAX_KNOWN) known.clear()
  if (key.length <= MAX_CHARACTERS) known.set(key, found)
  return found
}

/** The config that has the credentials of its owner, also as `<provider>_CREDENTIALS`: all of its value is secret. */
export function isCredentialsName(name: unknown): boolean {
  return typeof name === 'string' && /(?:^|[-_])credentials$/i.test(name)
}

/** True when all under the key are headers of HTTP, of which each may be a secret. */
export const areHeaders = (key: string): boolean => /headers$/i.test(key)

const SETTLED = new Set(
  'accesstoken appsecret verifytoken signingsecrets signingsecret apikey credentials password token clientsecret secret'.split(
    ' ',
  ),
)

function read(key: string): NamedSecret | undefined {
  if (isSecretKey(key)) return 'all'
  const words = wordsOf(key.slice(-MAX_CHARACTERS))
  if (SETTLED.has(words.join(''))) return 'all'
  if (words.slice(-2).join(' ') === 'connection string') return 'texts'
  while (words.length > 1 && isQualifier(words.at(-1))) words.pop()
  const last = words.at(-1) ?? ''
  const before = words.at(-2) ?? ''
  const singular = last.replace(/s$/, '')
  if (PASSWORDS.includes(last) || PASSWORDS.includes(singular) || GLUED_PASSWORD.test(last)) return 'scalars'
  if (singular === 'token' && COUNTED.has(before)) return undefined
  if (TOKENS.includes(singular)) return 'texts'
  if (singular === 'key') return KINDS_OF_KEY.has(before) ? 'texts' : undefined
  if (GLUED.test(last) && !COUNTED.has(last.replace(/tokens?$/, ''))) return 'texts'
  return last === 'dsn' || last === 'sas' ? 'texts' : undefined
}

const isQualifier = (word: string | undefined): boolean =>
  word !== undefined && (QUALIFIERS.has(word) || /^\d{1,9}$/.test(word))

/** `XApiKey`, `x-api-key` and `X_API_KEY` are the words x, api, key. */
function wordsOf(key: string): string[] {
  return key
    .split(/[^\p{L}\p{N}]|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{N})/u)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase())
}

/** Without dependencies but the providers, so that the console's bundle has it too. */
export const isSecretKey = (key: string): boolean => SECRET_KEYS.has(key) || isProviderSecret(key)
