import { createRequire } from 'node:module'
import type { Socket } from 'node:net'

/** What we need of the driver's `cmap/connection`, which it does not export. */
interface DriverConnection {
  socket: Pick<Socket, 'write' | 'emit'>
  closed: boolean
  cleanup(error: Error): void
}

const fromMongoose = createRequire(createRequire(import.meta.url).resolve('mongoose'))
const { Connection } = fromMongoose('mongodb/lib/cmap/connection.js') as {
  Connection: { prototype: DriverConnection }
}

/**
 * Lets commands of the MongoDB driver reject when their connection closes while they are being written. The driver (7.8)
 * waits for the socket's `drain` then, which a destroyed socket never emits, and no timeout of the driver ends that: such a
 * command, and whatever waits for it, never settled. It happened to commands that began between the end of a socket
 * and its `close`, and to long ones that timed out. Must be called once for each process, before the first connection.
 */
export function settleCommandsOnClose(): void {
  const { prototype } = Connection
  const { cleanup } = prototype
  prototype.cleanup = function (error) {
    const wasClosed = this.closed
    cleanup.call(this, error)
    if (wasClosed) return
    // The driver takes either for a lost connection: what writes from now on, and what waits to be written.
    this.socket.write = () => {
      throw error
    }
    this.socket.emit('drain')
  }
}
