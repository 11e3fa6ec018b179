import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FuzzDelivery } from './fuzz-case.ts'
import { parseResponses, type RawResponse } from './parse-responses.ts'

const RESPONSE_TIMEOUT_MS = 30_000
const PIECE_MS = 4
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
const HEAD_BYTES = 4 * 1024
const HEAD_CHUNKS = 3

/** The responses to some bytes. */
export interface Exchange {
  responses: RawResponse[]
  /** Set when the bytes that came are no HTTP, or nothing came in 30 s. */
  broken?: string
}

/** Sends bytes over a connection of their own, and reads until the other end closes it, 30 s at most. */
export async function exchange(
  url: string,
  bytes: Buffer,
  options: { method: string; delivery?: FuzzDelivery | undefined },
): Promise<Exchange> {
  const { method, delivery = {} } = options
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  const received = read(socket, delivery)
  await send(socket, bytes, delivery)
  const { data, late } = await received
  if (late) return { responses: [], broken: 'no answer within 30 s' }
  return parseResponses(data, method)
}

async function send(socket: Socket, bytes: Buffer, delivery: FuzzDelivery): Promise<void> {
  const { pieces = 1, cutAfter = 1 } = delivery
  const part = bytes.subarray(0, Math.floor(bytes.length * cutAfter))
  const size = Math.max(1, Math.ceil(part.length / pieces))
  for (let at = 0; at < part.length; at += size) {
    if (at > 0) await pause(PIECE_MS)
    if (!socket.writable) return
    socket.write(part.subarray(at, at + size))
  }
  if (delivery.halfClosed) socket.end()
  if (cutAfter < 1) {
    await pause(PIECE_MS)
    socket.destroy()
  }
}

/** All that came until the connection closed; a reset ends it like a close. */
function read(socket: Socket, { cutResponse }: FuzzDelivery): Promise<{ data: Buffer; late: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let length = 0
    let late = false
    const timer = setTimeout(() => {
      late = true
      socket.destroy()
    }, RESPONSE_TIMEOUT_MS)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (cutResponse || length > MAX_RESPONSE_BYTES || hasNoEnd(chunks)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearTimeout(timer)
      resolve({ data: Buffer.concat(chunks), late })
    })
  })
}

/** True if it is an event stream, which only its reader ends. Its head may come behind a 100 Continue. */
function hasNoEnd(chunks: Buffer[]): boolean {
  const head = Buffer.concat(chunks.slice(0, HEAD_CHUNKS)).subarray(0, HEAD_BYTES)
  return /\r\ncontent-type: text\/event-stream/i.test(head.toString('latin1'))
}
