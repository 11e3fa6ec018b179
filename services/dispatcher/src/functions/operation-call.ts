import { defined } from '@parley/shared/defined'
import type { JsonObject } from '@parley/shared/json-object'
import type { WebhookMessage } from '@parley/shared/message'
import { nativeServers } from '@parley/shared/native-request'
import { Problem } from '@parley/shared/problem'
import type { Channel } from '../channels/channels.ts'
import type { HttpClient, HttpResponse, MayLeave } from '../channels/http/http-client.ts'
import type { ReadThreadFile } from '../channels/media/thread-files.ts'
import type { Signer } from '../channels/signing.ts'
import type { Outcome } from '../message/outcome.ts'
import { type Credentialed, credentialsFor } from './credentials.ts'
import { type ReadFile, type RequestFiles, takes, withFiles } from './files.ts'
import type { Action } from './find-action.ts'
import { contextHeaders } from './signed-context.ts'
import type { SpecReader } from './spec-reader.ts'
import type { BindingOfCall, SpecResult } from './spec-task.ts'

const MAX_RESPONSE_BYTES = 1024 * 1024

export type FailedOutcome = Exclude<Outcome, { kind: 'accepted' }>

/** An operation of an action, to be called with these arguments because of a message. */
interface OperationCall {
  channel: Channel
  messageId: string
  message: WebhookMessage
  action: Pick<Action, '_id' | 'key' | 'workspace' | 'moduleUrl' | 'spec'>
  operationId: string
  args: object
  /** Where a model makes the call: what it can't set. Without it all arguments are the caller's. */
  binding?: BindingOfCall
  /** True if a signed header names the person whom it is for; undefined where not. */
  signsContext?: boolean
}

/** An operation whose arguments fit. */
export interface ReadyOperation {
  /** The URL that it calls, or its origin where each call has its own path. */
  url: string
  /** True if calling it twice does no more than calling it once, according to its spec. */
  isRepeatable: boolean
  /** True if that holds only under the same `Idempotency-Key`: a further call of a model has another one. */
  isKeyed: boolean
  /** True if it only reads, by its method. */
  isReadOnly: boolean
  /** True if it goes to the spec's own server, which asks for credentials. */
  asksForCredentials: boolean
  /** One attempt within `timeoutMs`; `id` is the idempotency key. Throws `CallError`. */
  send(
    id: string,
    credentials: JsonObject | undefined,
    limits: { timeoutMs: number; mayLeave?: MayLeave | undefined },
  ): { response: Promise<HttpResponse>; secrets: string[] }
}

/**
 * Reads an operation and its arguments by the action's spec: an action of module `native:request` calls the server
 * that its spec names; one with an http(s) module gets the call there as signed JSON. Nothing is imported or
 * evaluated. Rejects with `unavailable`.
 */
export type ReadOperationCall = (call: OperationCall) => Promise<ReadyOperation | FailedOutcome>

export function createReadOperationCall(options: {
  specs: Pick<SpecReader, 'ask'>
  http: Pick<HttpClient, 'send'>
  signer: Signer
  /** The files that a call names; without it none can be. */
  readFile?: ReadThreadFile
}): ReadOperationCall {
  const { specs, http, signer, readFile } = options
  return async (call) => {
    const { action, operationId, args } = call
    if (nativeServers(action.moduleUrl) === undefined && !/^https?:/.test(action.moduleUrl))
      return channelFailure(
        'bad_module',
        `The module of action ${action._id} is neither native:request nor an http(s) URL.`,
      )
    const { key, workspace, spec } = action
    const task = {
      kind: 'request',
      key,
      workspace,
      spec,
      operationId,
      args: JSON.stringify(args),
      moduleUrl: action.moduleUrl,
      ...call.binding,
    } as const
    const result = await specs.ask(task)
    if (result.kind === 'request') {
      const { request, security, isRepeatable, isKeyed } = result
      return {
        url: originOf(request.url),
        isRepeatable,
        isKeyed,
        isReadOnly: request.method === 'GET' || request.method === 'HEAD',
        asksForCredentials: security.length > 0,
        send(id, credentials, limits) {
          const filled = credentialsFor(security, credentials)
          const signed = call.signsContext === true ? contextHeaders(signer, call, id) : {}
          const own = { ...signed, 'idempotency-key': id }
          const headers = { ...withoutNames(request.headers, Object.keys(signed)), ...own }
          const sent = withCredentials({ ...request, headers }, filled)
          const response = async () => {
            const { files, ...plain } = sent
            const from = performance.now()
            const named = { readFile, messageId: call.messageId, files }
            const body =
              files === undefined ? plain.body : await bodyWithFiles(plain.body ?? '', { ...named, files })
            const timeoutMs = Math.max(1, limits.timeoutMs - (performance.now() - from))
            return http.send({ ...plain, ...bounded({ ...limits, timeoutMs }), ...defined({ body }) })
          }
          return { response: response(), secrets: filled.secrets }
        },
      }
    }
    if (result.kind !== 'fits') return failureOf(result, call)
    return {
      url: action.moduleUrl,
      isRepeatable: result.declaresKey === true,
      isKeyed: result.declaresKey === true,
      isReadOnly: false,
      asksForCredentials: false,
      send(id, _credentials, limits) {
        const body = moduleBody(call, id)
        const signature = signer.headers({ channel: call.channel, id, payload: body, at: new Date() })
        const headers = { ...signature, 'idempotency-key': id, 'content-type': 'application/json' }
        const sent = {
          method: 'POST',
          url: action.moduleUrl,
          body,
          headers,
          ...bounded(limits),
        }
        return { response: http.send(sent), secrets: [] }
      },
    }
  }
}

const bounded = ({ timeoutMs, mayLeave }: Parameters<ReadyOperation['send']>[2]) => ({
  timeoutMs,
  maxBytes: MAX_RESPONSE_BYTES,
  // A model reads it as a text.
  maxNodes: Number.POSITIVE_INFINITY,
  ...defined({ mayLeave }),
})

const FILES_MS = 6_000
const MAX_FILE_BYTES = 16 * 1024 * 1024

/** A file that a call names can't be sent; nothing was. */
export class FileError extends Error {
  /** True if the file may be there later. */
  readonly isTransient: boolean

  constructor(reason: string, { isTransient = false } = {}) {
    super(reason)
    this.isTransient = isTransient
  }
}

/** All files within 6 s, 16 MiB together at most. */
async function bodyWithFiles(
  body: string,
  call: { readFile: ReadThreadFile | undefined; messageId: string; files: RequestFiles },
): Promise<Buffer> {
  const { readFile, messageId } = call
  const { mark, named } = call.files
  if (readFile === undefined) throw new FileError('There are no files.')
  const signal = AbortSignal.timeout(FILES_MS)
  const read: ReadFile[] = []
  for (const { media: position, accept } of named) {
    const file = await readFile({ messageId, position }, signal).catch((error: unknown) => {
      const isTransient = !(error instanceof Problem) || error.code !== 'not_found'
      throw new FileError(
        `The file ${position}: ${error instanceof Error ? error.message : 'is not there'}`,
        { isTransient },
      )
    })
    if (!takes(accept, file.contentType))
      throw new FileError(`The file ${position} is of type ${file.contentType}, where ${accept} is taken.`)
    read.push(file)
    if (read.reduce((sum, { bytes }) => sum + bytes.length, 0) > MAX_FILE_BYTES)
      throw new FileError(`The files have more than ${MAX_FILE_BYTES} bytes together.`)
  }
  return withFiles(body, mark, read)
}

type SentRequest = Extract<SpecResult, { kind: 'request' }>['request']

/** They come before what the arguments say of the same header or parameter. */
function withCredentials(request: SentRequest, { headers, query, cookies }: Credentialed): SentRequest {
  const others = withoutNames(request.headers, Object.keys(headers))
  const url = new URL(request.url)
  for (const [name, value] of query) url.searchParams.set(name, value)
  const cookie = cookies.map((pair) => pair.map(encodeURIComponent).join('='))
  const merged: Record<string, string> = { ...others, ...headers }
  if (cookie.length > 0)
    merged.cookie = [...(merged.cookie === undefined ? [] : [merged.cookie]), ...cookie].join('; ')
  return { ...request, url: query.length > 0 ? url.href : request.url, headers: merged }
}

const withoutNames = (headers: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)

function moduleBody(call: OperationCall, id: string): string {
  const { messageId, channel, message, action, operationId, args } = call
  return JSON.stringify({
    id,
    messageId,
    channel: channel._id,
    extId: message.extId,
    user: message.user,
    thread: message.thread,
    action: action._id,
    operationId,
    args,
  })
}

function failureOf(
  result: Exclude<Awaited<ReturnType<SpecReader['ask']>>, { kind: 'request' | 'fits' }>,
  { action, operationId }: OperationCall,
): FailedOutcome {
  const operation = `Operation ${JSON.stringify(operationId)} of action ${action._id}`
  switch (result.kind) {
    case 'bad_args': {
      const reason = `${operation}: the argument ${result.path || '/'} ${result.reason}.`
      return { kind: 'permanent', code: 'bad_args', fault: 'caller', reason }
    }
    case 'unbound':
      return {
        kind: 'permanent',
        code: 'unbound',
        fault: 'channel',
        reason: `${operation}: ${result.reason}.`,
      }
    case 'bad_spec':
      return channelFailure('bad_spec', `The spec of action ${action._id} ${result.reason}.`)
    default:
      return slowSpec(operation)
  }
}

/** A spec that is too slow for now may be read later. */
export function slowSpec(subject: string): FailedOutcome {
  const reason = `${subject} takes too long to read.`
  return { kind: 'retryable', code: 'slow_spec', fault: 'channel', reason }
}

export function channelFailure(code: string, reason: string): FailedOutcome {
  return { kind: 'permanent', code, fault: 'channel', reason }
}
