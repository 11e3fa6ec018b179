import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The clinic's own system, which the assistant calls. */
export interface Diary {
  url: string
  /** The idempotency keys of the bookings that it was asked for, in order. */
  bookings: string[]
  close(): Promise<void>
}

/** Starts the diary on a free port. It has two free times on each day, and refuses the first booking. */
export async function startDiary(): Promise<Diary> {
  const bookings: string[] = []
  const server = createServer((req, res) => {
    req.resume()
    if (req.url?.startsWith('/free')) return respond(res, 200, { times: ['09:00', '14:30'] })
    bookings.push(idempotencyKey(req))
    if (bookings.length === 1) return respond(res, 503, { error: 'The diary is being written to.' })
    respond(res, 201, { appointment: 17 })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bookings,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const idempotencyKey = ({ headers }: IncomingMessage): string => String(headers['idempotency-key'])

function respond(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
