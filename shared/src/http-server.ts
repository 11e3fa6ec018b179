import { randomUUID } from 'node:crypto'
import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Express } from 'express'
import { type ErrorCode, errors } from './errors.ts'
import { Problem, problemBody, problemHeaders } from './problem.ts'
import type { ServerTls } from './server-tls.ts'

// Node would answer with a bare 400; the app refuses it itself.
const OPTIONS = { requireHostHeader: false }

/** The server of every process: what is no well-formed request is refused with a problem as well. HTTPS with `tls`. */
export function createHttpServer(app: RequestListener, tls?: ServerTls): Server {
  const options = { ...OPTIONS, ...classesOf(app) }
  const server = tls === undefined ? createServer(options, app) : tls.createServer(options, app)
  respondToClientErrors(server)
  return server
}

/**
 * Classes of what is made for Express. It gives each request and response its own prototype when it comes, which makes
 * everything that touches them slower afterwards: these are made with it.
 */
function classesOf(app: RequestListener | Express) {
  if (!('request' in app)) return {}
  return {
    IncomingMessage: madeWith(IncomingMessage, app.request),
    ServerResponse: madeWith(ServerResponse, app.response),
  }
}

function madeWith<Class extends typeof IncomingMessage | typeof ServerResponse>(
  own: Class,
  prototype: object,
): Class {
  function Made(...args: unknown[]): object {
    return Reflect.construct(own, args, Made)
  }
  Made.prototype = prototype
  return Made as unknown as Class
}

/** Whoever does not get through the handshake can't read an answer either. */
const isOfTls = ({ code = '' }: NodeJS.ErrnoException): boolean => /^ERR_(SSL|TLS)_/.test(code)

const CODES: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/**
 * Answers what is no well-formed HTTP request with a problem as well, and closes the connection. An expectation that
 * nobody knows counts for nothing (RFC 9110, 10.1.1), where Node would answer with a bare 417.
 */
export function respondToClientErrors(server: Server): void {
  server.on('checkExpectation', (req, res) => server.emit('request', req, res))
  const latest = new WeakMap<Duplex, ServerResponse>()
  server.on('request', (req, res) => latest.set(req.socket, res))
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === 'ECONNRESET' || isOfTls(error) || !socket.writable) return void socket.destroy()
    const response = latest.get(socket)
    // Of a request that is answered already: bytes of ours would be read as part of that answer, or as another one.
    if (response?.headersSent && !(response.writableFinished && response.req.complete))
      return void socket.end(() => socket.destroy())
    const problem = new Problem(CODES[error.code ?? ''] ?? 'malformed_request')
    const requestId = randomUUID()
    const body = JSON.stringify(problemBody(problem, { instance: '', requestId }))
    const headers = {
      ...problemHeaders(problem),
      'x-request-id': requestId,
      'x-content-type-options': 'nosniff',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    const { title } = errors[problem.code]
    socket.end(`HTTP/1.1 ${problem.status} ${title}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  })
}
