import type { Writable } from 'node:stream'
import type { ChannelModel } from 'amqplib'

/**
 * Makes one write of all that is published within a turn of the event loop: amqplib writes each message to the
 * socket by itself, and those system calls were a quarter of what a message costs. Call it before a publish.
 */
export function createWriteBatch(connection: ChannelModel): () => void {
  // The types leave the socket out.
  const { stream } = (connection as unknown as { connection: { stream: Writable } }).connection
  let held = false
  const release = () => {
    held = false
    stream.uncork()
  }
  return () => {
    if (held) return
    held = true
    stream.cork()
    // amqplib hands messages on in an immediate, which it asks for a tick after the publish.
    process.nextTick(() => process.nextTick(() => setImmediate(release)))
  }
}
