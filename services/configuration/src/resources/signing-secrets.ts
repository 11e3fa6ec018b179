import type { JsonObject } from '@parley/shared/json-object'
import type { FieldError } from '@parley/shared/problem'
import { MASK } from '@parley/shared/sealed-value'
import { valueAt } from './value-at.ts'

/** What Standard Webhooks asks of a signing secret. */
const LEAST_BYTES = 24
const BASE64 = /^(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=)?$/

/** The new signing secrets of a channel that are too short to withstand guessing; those it has already stay valid. */
export function errorsOfSigningSecrets(change: {
  from: JsonObject | undefined
  to: JsonObject
  sent: JsonObject
}): FieldError[] {
  const sealed = secretsIn(change.to)
  const before = new Set(secretsIn(change.from ?? {}))
  return secretsIn(change.sent).flatMap((secret, at) => {
    const isNew = secret !== MASK && !before.has(secret) && !before.has(sealed[at])
    if (!isNew || typeof secret !== 'string' || bytesOf(secret) >= LEAST_BYTES) return []
    const message = `expected at least ${LEAST_BYTES} bytes`
    return [{ path: `/config/signingSecrets/${at}`, code: 'too_small', message }]
  })
}

function secretsIn(doc: JsonObject): unknown[] {
  const secrets = valueAt(doc, 'config.signingSecrets')
  return Array.isArray(secrets) ? secrets : []
}

/** A secret is the bytes that it writes in base64, after `whsec_`; any other text counts as it is. */
function bytesOf(secret: string): number {
  const text = secret.replace(/^whsec_/, '')
  return BASE64.test(text) ? Buffer.from(text, 'base64').length : Buffer.byteLength(text)
}
