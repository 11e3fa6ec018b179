import type { HttpResponse, MayLeave } from '../channels/http/http-client.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { ActionCredentials } from './credentials.ts'
import type { ReadyOperation } from './operation-call.ts'
import { TokenError } from './request-token.ts'

const UNAUTHORIZED = 401

/**
 * Sends an operation with its credentials, and with an access token where these name an OAuth client, all within
 * `timeoutMs`. What is refused with 401 was not done: it is sent once more with another token. Rejects as
 * {@link ReadyOperation.send}, and with {@link TokenError}.
 */
export async function sendWithToken(
  tokens: Pick<AccessTokens, 'filled' | 'refused'>,
  sending: {
    operation: ReadyOperation
    action: { workspace: number; _id: number }
    credentials: ActionCredentials | undefined
    id: string
    timeoutMs: number
    mayLeave: MayLeave | undefined
  },
): Promise<{ answer: HttpResponse; secrets: string[] }> {
  const { operation, action, credentials, id, mayLeave } = sending
  const deadline = performance.now() + sending.timeoutMs
  for (let isAgain = false; ; isAgain = true) {
    const filled = await tokens.filled(action, credentials, { url: operation.url })
    const timeoutMs = deadline - performance.now()
    if (timeoutMs <= 0) throw new TokenError('The access token came too late.', { isRefused: false })
    const { response, secrets } = operation.send(id, filled?.value, { timeoutMs, mayLeave })
    const answer = await response
    const isSpoilt = answer.status === UNAUTHORIZED && filled !== credentials
    if (isSpoilt) tokens.refused(filled)
    if (!isSpoilt || isAgain) return { answer, secrets }
  }
}
