import type { WebhookMessage } from '@parley/shared/message'
import type { FunctionContent } from '../../message/message-record.ts'
import type { Outcome } from '../../message/outcome.ts'
import { DELIVERY_MS } from '../callback.ts'
import type { Channel } from '../channels.ts'
import type { HttpClient } from '../http/http-client.ts'
import { outcomeOfCall, outcomeOfStatus } from '../rpc.ts'
import type { Signer } from '../signing.ts'
import type { Action, FindAction } from './find-action.ts'
import type { SpecReader } from './spec-reader.ts'
import type { SpecResult } from './spec-task.ts'

const MAX_RESPONSE_BYTES = 1024 * 1024
const NATIVE = 'native:request'

type FailedOutcome = Exclude<Outcome, { kind: 'accepted' }>

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
  /** What it calls, or the origin of that where each call has its own path; undefined when nothing can be called. */
  url?: string
  /** Calls it, within 12 s. */
  deliver(): Promise<Outcome>
}

interface Ready {
  action: Action
  args: object
  answer: Extract<SpecResult, { kind: 'request' | 'fits' }>
}

/**
 * Functions over HTTP: an action of module `native:request` calls the server that its spec names; one with an
 * http(s) module gets the call there as signed JSON. Nothing is imported or evaluated.
 */
export function createFunctions(options: {
  findAction: FindAction
  specs: Pick<SpecReader, 'ask'>
  http: Pick<HttpClient, 'send'>
  signer: Signer
}): Functions {
  const { findAction, specs, http, signer } = options
  const ready = async (
    { channel, message, content }: FunctionCall,
    needs?: { notBefore?: number | undefined },
  ): Promise<Ready | FailedOutcome> => {
    const { name, position } = content
    const found = await findAction(channel, name, needs)
    if (found.kind === 'unknown') return unknownOperation(name, found.badSpec)
    const { action } = found
    const native = action.moduleUrl === NATIVE
    if (!native && !/^https?:/.test(action.moduleUrl))
      return channelFailure(
        'bad_module',
        `The module of action ${action._id} is neither ${NATIVE} nor an http(s) URL.`,
      )
    const args = message.answer.functions?.[position]?.args ?? {}
    const { key, workspace, spec } = action
    const task = {
      kind: 'request',
      key,
      workspace,
      spec,
      operationId: name,
      args: JSON.stringify(args),
      native,
    } as const
    return readyOrNot(await specs.ask(task), { action, args, name })
  }
  const post = async (call: FunctionCall, { action, args, answer }: Ready) => {
    const common = { timeoutMs: DELIVERY_MS, maxBytes: MAX_RESPONSE_BYTES }
    const key = { 'idempotency-key': call.id }
    if (answer.kind === 'request') {
      const { request } = answer
      return http.send({ ...request, ...common, headers: { ...request.headers, ...key } })
    }
    const body = moduleBody(call, { action, args })
    const signature = signer.headers({ channel: call.channel, id: call.id, payload: body, at: new Date() })
    const headers = { ...signature, ...key, 'content-type': 'application/json' }
    return http.send({ method: 'POST', url: action.moduleUrl, body, headers, ...common })
  }
  return {
    async check(call, needs) {
      const found = await ready(call, needs)
      return 'kind' in found ? found : undefined
    },
    async open(call) {
      const found = await ready(call)
      if ('kind' in found) return { deliver: async () => found }
      const deliver = () => post(call, found).then(outcomeOfStatus).catch(outcomeOfCall)
      return { url: targetOf(found), deliver }
    },
  }
}

/** The path of an operation's own server may hold arguments. */
function targetOf({ action, answer }: Ready): string {
  return answer.kind === 'request' ? originOf(answer.request.url) : action.moduleUrl
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)

function moduleBody(call: FunctionCall, { action, args }: { action: Action; args: object }): string {
  const { id, messageId, channel, message, content } = call
  return JSON.stringify({
    id,
    messageId,
    channel: channel._id,
    extId: message.extId,
    user: message.user,
    thread: message.thread,
    action: action._id,
    operationId: content.name,
    args,
  })
}

function readyOrNot(
  answer: Awaited<ReturnType<SpecReader['ask']>>,
  { action, args, name }: { action: Action; args: object; name: string },
): Ready | FailedOutcome {
  const operation = `Operation ${JSON.stringify(name)} of action ${action._id}`
  switch (answer.kind) {
    case 'request':
    case 'fits':
      return { action, args, answer }
    case 'bad_args': {
      const reason = `${operation}: the argument ${answer.path || '/'} ${answer.reason}.`
      return { kind: 'permanent', code: 'bad_args', fault: 'caller', reason }
    }
    case 'bad_spec':
      return channelFailure('bad_spec', `The spec of action ${action._id} ${answer.reason}.`)
    default: {
      const reason = `${operation} takes too long to read.`
      return { kind: 'retryable', code: 'slow_spec', fault: 'channel', reason }
    }
  }
}

function unknownOperation(name: string, badSpec = ''): FailedOutcome {
  const reason = `No action of the channel's assistant has an operation named ${JSON.stringify(name)}.`
  return channelFailure('unknown_operation', badSpec === '' ? reason : `${reason} ${badSpec}`)
}

function channelFailure(code: string, reason: string): FailedOutcome {
  return { kind: 'permanent', code, fault: 'channel', reason }
}
