import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that can be cut and mended, in front of a real server. */
export async function breakableProxy(target: string) {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let broken = false
  const server = createServer((client) => {
    if (broken) return void client.destroy()
    const upstream = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  const cut = () => {
    broken = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: url.href,
    cut,
    mend: () => {
      broken = false
    },
    close: () => {
      cut()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
