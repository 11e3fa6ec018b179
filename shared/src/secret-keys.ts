import { isProviderSecret } from './providers/registry.ts'

/** What callers see in the place of a secret that is not theirs to see. */
export const MASK = '••••'

/**
 * The settled names, beside those of the providers' secrets: everything under these keys is secret, at whatever depth they
 * and it are.
 */
const SECRET_KEYS = new Set([
  ...['accessToken', 'signingSecrets', 'signingSecret', 'apiKey', 'credentials'],
  ...['password', 'token', 'clientSecret', 'secret'],
])

/** Without dependencies but the providers, so that the console's bundle has it too. */
export const isSecretKey = (key: string): boolean => SECRET_KEYS.has(key) || isProviderSecret(key)
