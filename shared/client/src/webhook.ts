import { Webhook, WebhookVerificationError } from 'standardwebhooks'

export { WebhookVerificationError } from 'standardwebhooks'

/**
 * Checks the Standard Webhooks signature of what Parley posted, and returns the body that it is of. `body` is what
 * arrived, unchanged; each of `secrets` (`whsec_…`) may have signed it, so that they can be replaced without a gap.
 * Throws a `WebhookVerificationError` for another signature, and for one of more than 5 minutes before or after now.
 */
export function verifyWebhook<T = unknown>(
  headers: Headers | Record<string, string | string[] | undefined>,
  body: string | Uint8Array,
  secrets: string | readonly string[],
): T {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const signed = signatureHeaders(headers)
  let refusal: unknown = new WebhookVerificationError('No secret was given')
  for (const secret of [secrets].flat()) {
    try {
      return new Webhook(secret).verify(text, signed) as T
    } catch (error) {
      if (!(error instanceof WebhookVerificationError)) throw error
      refusal = error
    }
  }
  throw refusal
}

const NAMES = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

function signatureHeaders(
  headers: Headers | Record<string, string | string[] | undefined>,
): Record<string, string> {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const named = entries.flatMap(([name, value]) =>
    NAMES.includes(name.toLowerCase()) ? [[name.toLowerCase(), String(value)]] : [],
  )
  return Object.fromEntries(named)
}
