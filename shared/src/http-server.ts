import { createServer, type RequestListener, type Server } from 'node:http'
import { respondToClientErrors } from './client-errors.ts'

/** The server of every process: what is no well-formed request is refused with a problem as well. */
export function createHttpServer(app: RequestListener): Server {
  // Node would answer with a bare 400; the app refuses it itself.
  const server = createServer({ requireHostHeader: false }, app)
  respondToClientErrors(server)
  return server
}
