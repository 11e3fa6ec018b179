import type { WebhookMessage } from '@parley/shared/message'
import type { Channel } from '../channels/channels.ts'
import { outcomeOfCall, outcomeOfStatus } from '../channels/http/call-outcome.ts'
import { withErrorText } from '../channels/http/error-text.ts'
import type { MayLeave } from '../channels/http/http-client.ts'
import type { FunctionContent } from '../message/message-record.ts'
import type { Outcome } from '../message/outcome.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { CallSettingsOf } from './call-settings.ts'
import { CREDENTIALS_WITHHELD, type CredentialsOf, reasonToWithholdCredentials } from './credentials.ts'
import type { Action, FindAction } from './find-action.ts'
import {
  channelFailure,
  type FailedOutcome,
  type ReadOperationCall,
  type ReadyOperation,
  slowSpec,
} from './operation-call.ts'
import { effectOf } from './repeatable.ts'
import { TokenError } from './request-token.ts'
import { sendWithToken } from './send-with-token.ts'

const FRESH_MS = 1_000

/** A function of an answer, with the message whose answer it is in. */
interface FunctionCall {
  channel: Channel
  messageId: string
  /** With the answer in force, whoever made it. */
  message: WebhookMessage
  /** The send's id: the idempotency key, the same on every attempt. */
  id: string
  content: FunctionContent
}

/** Runs the functions of answers: the operations of the actions that the channel's assistant has. */
export interface Functions {
  /**
   * Whether a function could be called as it stands: undefined when it could. Code `unknown_operation` when no
   * action has it. Rejects with `unavailable`.
   */
  check(call: FunctionCall, options: { notBefore?: number | undefined }): Promise<FailedOutcome | undefined>
  /** Gets an attempt ready; rejects with `unavailable` while configuration is unavailable. */
  open(call: FunctionCall): Promise<FunctionAttempt>
}

/** One attempt at a function. */
interface FunctionAttempt {
  /** The URL that it calls, or its origin where each call has its own path; undefined when nothing can be called. */
  url?: string
  /** True if it may be called again when it may have been done. */
  isRepeatable?: boolean
  /** The longest one attempt takes, in milliseconds. */
  timeoutMs?: number
  deliver(mayLeave: MayLeave): Promise<Outcome>
}

/**
 * Functions over HTTP, with the credentials of the action where its spec asks for them. What may have been done and may
 * not be done twice is `effect_unknown`.
 */
export function createFunctions(options: {
  findAction: FindAction
  readCall: ReadOperationCall
  credentialsOf: CredentialsOf
  callSettingsOf: CallSettingsOf
  tokens: Pick<AccessTokens, 'filled' | 'refused'>
}): Functions {
  const { findAction, readCall, credentialsOf, callSettingsOf, tokens } = options
  const ready = async (call: FunctionCall, needs?: { notBefore?: number | undefined }) => {
    const { channel, messageId, message, content } = call
    const { name, position } = content
    const found = await findAction(channel, name, needs)
    if (found.kind === 'unknown') return unknownOperation(name, found.badSpec)
    const { action } = found
    if (found.kind === 'slow') return slowSpec(`The spec of action ${action._id}`)
    const args = message.answer.functions?.[position]?.args ?? {}
    const operation = await readCall({ channel, messageId, message, action, operationId: name, args })
    return 'kind' in operation ? operation : { operation, action }
  }
  const credentials = async (operation: ReadyOperation, action: Action) => {
    if (!operation.asksForCredentials) return {}
    const given = await credentialsOf(action)
    if (reasonToWithholdCredentials(action._id, given, operation.url) === undefined) return { given }
    // Someone may have stored them again a moment ago.
    const again = await credentialsOf(action, { notBefore: Date.now() - FRESH_MS })
    return { given: again, withheld: reasonToWithholdCredentials(action._id, again, operation.url) }
  }
  return {
    async check(call, needs) {
      const found = await ready(call, needs)
      return 'kind' in found ? found : undefined
    },
    async open(call) {
      const found = await ready(call)
      // One that was called before may have been done, whatever hinders it now.
      if ('kind' in found) return { isRepeatable: false, deliver: async () => found }
      const { operation, action } = found
      const { given, withheld } = await credentials(operation, action)
      if (withheld !== undefined)
        return { isRepeatable: false, deliver: async () => channelFailure(CREDENTIALS_WITHHELD, withheld) }
      const { isIdempotent, timeoutMs } = await callSettingsOf(action)
      const isRepeatable = operation.isRepeatable || isIdempotent
      const deliver = async (mayLeave: MayLeave) => {
        try {
          const sending = { operation, action, credentials: given, id: call.id, timeoutMs, mayLeave }
          const { answer, secrets } = await sendWithToken(tokens, sending)
          const sent = {
            url: operation.url,
            headers: { secrets: secrets.join(' ') },
            body: JSON.stringify(call.message),
          }
          return withErrorText(effectOf(outcomeOfStatus(answer), { isRepeatable }), answer, sent)
        } catch (error) {
          if (error instanceof TokenError) return tokenFailure(error)
          return effectOf(outcomeOfCall(error), { isRepeatable })
        }
      }
      return { url: operation.url, isRepeatable, timeoutMs, deliver }
    },
  }
}

/** Nothing was called. */
function tokenFailure({ message, isRefused }: TokenError): FailedOutcome {
  return isRefused
    ? channelFailure('no_access_token', message)
    : { kind: 'retryable', code: 'not_reached', fault: 'channel', reason: message }
}

function unknownOperation(name: string, badSpec = ''): FailedOutcome {
  const reason = `No action of the channel's assistant has an operation named ${JSON.stringify(name)}.`
  return channelFailure('unknown_operation', badSpec === '' ? reason : `${reason} ${badSpec}`)
}
