import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

// The most bytes that may wait in one direction of a slow connection; more is held back at its sender.
const MAX_WAITING_BYTES = 256 * 1_024

/** The network in front of one server or service, or its instances: a TCP proxy that can be cut, slowed and mended. */
export interface Network {
  port: number
  /** Cuts every connection and every new one until it is mended. */
  cut(): void
  /** Holds each piece of data up by so many milliseconds, in both directions. */
  slow(delayMs: number): void
  mend(): void
  close(): Promise<void>
}

/** Connections go to the ports in turn; one that is refused breaks off. */
export async function startNetwork({ host, ports }: { host: string; ports: number[] }): Promise<Network> {
  const sockets = new Set<Socket>()
  const state = { cut: false, delayMs: 0, turn: 0 }
  const server = createServer({ allowHalfOpen: true }, (incoming) => {
    if (state.cut) return void incoming.destroy()
    const port = ports[state.turn++ % ports.length] ?? 0
    const outgoing = connect({ host, port, allowHalfOpen: true })
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      from.on('error', () => to.destroy())
      from.on('close', () => sockets.delete(from))
      carry(from, to, () => state.delayMs)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      state.cut = true
      destroyAll()
    },
    slow(delayMs) {
      state.delayMs = delayMs
    },
    mend() {
      Object.assign(state, { cut: false, delayMs: 0 })
    },
    close() {
      destroyAll()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Carries the data over in order, each piece when it is due, the end last. */
function carry(from: Socket, to: Socket, delayMs: () => number): void {
  const waiting: Array<{ bytes: number; deliver(): void }> = []
  let waitingBytes = 0
  const flow = () => {
    if (waitingBytes > MAX_WAITING_BYTES || to.writableNeedDrain) from.pause()
    else from.resume()
  }
  // Timers of the same moment may swap; the pieces must not.
  const deliverNext = () => {
    const piece = waiting.shift()
    if (piece === undefined || to.destroyed) return
    waitingBytes -= piece.bytes
    piece.deliver()
    flow()
  }
  const carryOver = (bytes: number, deliver: () => void) => {
    const wait = delayMs()
    waitingBytes += bytes
    waiting.push({ bytes, deliver })
    if (wait === 0 && waiting.length === 1) return deliverNext()
    setTimeout(deliverNext, wait)
    flow()
  }
  to.on('drain', flow)
  from.on('data', (data: Buffer) => carryOver(data.length, () => void to.write(data)))
  from.on('end', () => carryOver(0, () => to.end()))
}
