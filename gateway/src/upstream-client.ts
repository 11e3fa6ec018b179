import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import type { PendingResponse, ReceivedRequest } from '@parley/shared/exchange'
import type { ServiceCalls, Target } from '@parley/shared/service-calls'
import { Agent, type Dispatcher } from 'undici'
import { ACT, setResponseHeaders } from './outgoing-headers.ts'

/** A request that is on its way to a service. */
interface Sending {
  target: Target
  headers: OutgoingHttpHeaders
  req: ReceivedRequest
  res: PendingResponse
  /** Hears once why there is no response, or why it broke off. */
  fail(error: Error): void
}

/** Sends requests to services, and their responses back. */
export interface UpstreamClient {
  /** Returns what ends the request, whatever came of it; it has to be called when `res` closes. */
  send(sending: Sending): () => void
  close(): Promise<void>
}

// One for all, because the stack of an error costs time and nobody reads this one.
const ABANDONED = new Error('the caller does not need the response any more')

/**
 * Keeps connections alive, and streams over them in both directions. A service may be silent for `timeoutMs` before it
 * responds and for `silenceMs` within its response, give or take a second; a response that its caller does not read for
 * `timeoutMs` is broken off.
 */
export function createUpstreamClient({
  timeoutMs,
  silenceMs,
  connect,
}: {
  timeoutMs: number
  silenceMs: number
  connect: ServiceCalls['connect']
}): UpstreamClient {
  const agent = new Agent({
    allowH2: false,
    pipelining: 1,
    connect,
    headersTimeout: timeoutMs,
    bodyTimeout: silenceMs,
  })
  return {
    send(sending) {
      const { target, headers, req } = sending
      const { handler, end } = relay(sending, timeoutMs)
      const { url: path = '/', method = 'GET' } = req
      const { origin, servername } = target
      const asked = { origin, servername, path, method: method as Dispatcher.HttpMethod }
      agent.dispatch({ ...asked, headers, body: bodyOf(req) }, handler)
      return end
    },
    close: () => agent.destroy(),
  }
}

/** A body that has come whole is sent with the headers; the rest is streamed. */
function bodyOf(req: ReceivedRequest): Buffer | Readable | null {
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers
  if (coding === undefined && (length === undefined || length === '0')) return null
  if (hasArrived(req)) return readAll(req)
  // Not the request itself: the client destroys a body that it does not need, and with it the caller's connection.
  const body = req.pipe(new PassThrough())
  return body.once('close', () => req.resume())
}

/** True when the body, if there is one, has come together with the headers, as small ones mostly do. */
export function hasArrived(req: IncomingMessage): boolean {
  if (req.complete) return true
  const { 'content-length': length, 'transfer-encoding': coding } = req.headers
  return coding === undefined && (length === undefined || req.readableLength >= Number(length))
}

/** Reads what has arrived; null when that is nothing. A single `read` may return only the first piece. */
function readAll(req: ReceivedRequest): Buffer | null {
  const pieces: Buffer[] = []
  for (let piece = req.read(); piece !== null; piece = req.read()) pieces.push(piece)
  return pieces.length > 1 ? Buffer.concat(pieces) : (pieces[0] ?? null)
}

/** Makes the handler that the client calls as the response arrives, and that ends the request before that. */
function relay(
  { req, res, fail }: Sending,
  timeoutMs: number,
): { handler: Dispatcher.DispatchHandler; end(): void } {
  let started: Dispatcher.DispatchController | undefined
  let isOver = false
  let length: number | undefined
  let unread: NodeJS.Timeout | undefined
  const end = () => {
    clearTimeout(unread)
    if (isOver) return
    isOver = true
    started?.abort(ABANDONED)
  }
  const pause = (controller: Dispatcher.DispatchController) => {
    controller.pause()
    unread = setTimeout(() => controller.abort(new Error('the response is not read')), timeoutMs)
    res.once('drain', () => {
      clearTimeout(unread)
      controller.resume()
    })
  }
  const finish = (chunk?: Buffer) => {
    res.end(chunk)
    // The connection did not take all of it at once.
    if (res.writableLength > 0) unread = setTimeout(() => req.socket.destroy(), timeoutMs)
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      started = controller
      if (isOver) controller.abort(ABANDONED)
    },
    onResponseStart(_controller, status, headers, message) {
      // A status below 200 is not the response yet.
      if (status < 200) return
      res.statusCode = status
      if (message !== undefined) res.statusMessage = message
      setResponseHeaders(res, headers)
      res.locals.act = headers[ACT]
      length = Number(headers['content-length'])
    },
    onResponseData(controller, chunk) {
      if (res.destroyed) end()
      // Headers and body in one write.
      else if (chunk.length === length) finish(chunk)
      else if (!res.write(chunk)) pause(controller)
    },
    onResponseEnd() {
      isOver = true
      if (!res.writableEnded) finish()
    },
    onResponseError(_controller, error) {
      clearTimeout(unread)
      if (isOver) return
      isOver = true
      fail(error)
    },
  }
  return { handler, end }
}
