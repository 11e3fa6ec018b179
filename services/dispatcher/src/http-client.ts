import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from 'request-filtering-agent'

const MAX_SOCKETS = 256
const IDLE_SOCKET_MS = 4_000

/** How a call failed: nothing left (`not_sent`), the target is private (`refused_target`), no answer came, or it was too large. */
export type CallFailure = 'not_sent' | 'refused_target' | 'no_answer' | 'answer_too_large'

export class CallError extends Error {
  readonly failure: CallFailure
  constructor(failure: CallFailure, cause: unknown) {
    super(failure, { cause })
    this.failure = failure
  }
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

export interface HttpClient {
  /**
   * POSTs to a URL that a workspace configured. Private, loopback and link-local addresses are refused after
   * DNS, on every connection; redirects are not followed; the answer is read up to `maxBytes`, all within
   * `timeoutMs`. Throws {@link CallError}.
   */
  post(call: {
    url: string
    headers: Record<string, string>
    body: string
    timeoutMs: number
    maxBytes: number
  }): Promise<Answer>
  close(): void
}

/** An HTTP client with kept-alive connections that lets only public targets and `allowed` ranges through. */
export function createHttpClient(options: { allowed: string[] }): HttpClient {
  const agentOptions = {
    keepAlive: true,
    maxSockets: MAX_SOCKETS,
    timeout: IDLE_SOCKET_MS,
    allowIPAddressList: options.allowed,
  }
  const httpAgent = new RequestFilteringHttpAgent(agentOptions)
  const httpsAgent = new RequestFilteringHttpsAgent(agentOptions)
  return {
    post: (call) =>
      new Promise((resolve, reject) => {
        const secure = call.url.startsWith('https:')
        const deadline = AbortSignal.timeout(call.timeoutMs)
        let connected = false
        const fail = (error: unknown) => reject(failureOf(error, connected))
        let outgoing: ReturnType<typeof httpRequest>
        try {
          outgoing = (secure ? httpsRequest : httpRequest)(call.url, {
            method: 'POST',
            agent: secure ? httpsAgent : httpAgent,
            signal: deadline,
            headers: { ...call.headers, 'content-length': Buffer.byteLength(call.body) },
          })
        } catch (error) {
          return fail(error)
        }
        outgoing.on('socket', (socket) => {
          if (!socket.connecting) connected = true
          else socket.once(secure ? 'secureConnect' : 'connect', () => (connected = true))
        })
        outgoing.on('error', fail)
        outgoing.on('response', (response) => readAnswer(response, call.maxBytes).then(resolve, fail))
        outgoing.end(call.body)
      }),
    close: () => {
      httpAgent.destroy()
      httpsAgent.destroy()
    },
  }
}

function failureOf(error: unknown, connected: boolean): CallError {
  if (error instanceof CallError) return error
  if (error instanceof Error && / is not allowed/.test(error.message))
    return new CallError('refused_target', error)
  return new CallError(connected ? 'no_answer' : 'not_sent', error)
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<Answer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) {
      response.destroy()
      throw new CallError('answer_too_large', undefined)
    }
    chunks.push(chunk)
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks).toString(),
  }
}
