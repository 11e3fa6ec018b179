/** An error as OpenAI writes it. */
export class ProviderError extends Error {
  readonly status: number
  readonly retryAfterSeconds: number | undefined
  readonly #type: string
  readonly #code: string | null

  constructor(options: {
    status: number
    message: string
    type?: string | undefined
    code?: string | undefined
    retryAfterSeconds?: number | undefined
  }) {
    super(options.message)
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
    this.#type = options.type ?? (options.status >= 500 ? 'server_error' : 'invalid_request_error')
    this.#code = options.code ?? null
  }

  body(): object {
    return { error: { message: this.message, type: this.#type, param: null, code: this.#code } }
  }
}
