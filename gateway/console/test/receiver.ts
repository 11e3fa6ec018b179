import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

interface Receiver {
  url: string
  got: { headers: IncomingHttpHeaders; body: string }[]
  close(): Promise<void>
}

/** An endpoint that takes every event. */
export async function startReceiver(): Promise<Receiver> {
  const got: Receiver['got'] = []
  const server = createServer(async (req, res) => {
    got.push({ headers: req.headers, body: await text(req) })
    res.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    got,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
