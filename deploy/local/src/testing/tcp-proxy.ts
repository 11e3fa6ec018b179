import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy that a test can cut and mend: its target seems to become unavailable and available again. */
export interface TcpProxy {
  port: number
  /** Cuts every connection and refuses new ones. */
  cut(): void
  /** Passes nothing more on over the present connections, which stay open. */
  stall(): void
  /** Passes requests on, and no response until the function that it returns is called. */
  delayResponses(): () => void
  mend(): void
  /** How many connections it has passed on so far. */
  connections(): number
  close(): Promise<void>
}

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const targets = new Set<Socket>()
  let cut = false
  let isDelayed = false
  let connections = 0
  const server = createServer((incoming) => {
    if (cut) return void incoming.destroy()
    connections++
    const outgoing = connect(target)
    targets.add(outgoing)
    outgoing.on('close', () => targets.delete(outgoing))
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
    if (isDelayed) outgoing.pause()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      cut = true
      destroyAll()
    },
    stall() {
      for (const socket of sockets) socket.pause()
    },
    delayResponses() {
      isDelayed = true
      for (const socket of targets) socket.pause()
      return () => {
        isDelayed = false
        for (const socket of targets) socket.resume()
      }
    },
    mend() {
      cut = false
    },
    connections: () => connections,
    close() {
      destroyAll()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
