import { randomBytes } from 'node:crypto'
import { defined } from '@parley/shared/defined'

interface Refusal {
  status: number
  code: number
  message: string
  subcode?: number
  /** The exact error. */
  details?: string
  /** When to try again, in seconds. */
  retryAfterSeconds?: number
}

/** An error in the form of the Graph API. */
export class MetaError extends Error {
  readonly status: number
  readonly code: number
  readonly retryAfterSeconds: number | undefined
  readonly #refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.message)
    this.status = refusal.status
    this.code = refusal.code
    this.retryAfterSeconds = refusal.retryAfterSeconds
    this.#refusal = refusal
  }

  /** The body, with a trace id of its own. */
  body(): object {
    const { code, message, subcode, details } = this.#refusal
    return {
      error: {
        message: `(#${code}) ${message}`,
        type: 'OAuthException',
        code,
        ...defined({ error_subcode: subcode }),
        ...(details === undefined ? {} : { error_data: { messaging_product: 'whatsapp', details } }),
        fbtrace_id: randomBytes(12).toString('base64url'),
      },
    }
  }
}
