import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { checkBytes } from '@parley/shared/json-body'
import { parseJson } from '@parley/shared/parse-json'
import { Problem } from '@parley/shared/problem'
import type { BodyBudget, BodyReservation, NoRoom } from './body-budget.ts'

const LINGER_MS = 5_000

interface BodyLimits {
  /** After decompression. */
  maxBytes: number
  timeoutMs: number
  /** True when a compressed body is taken. */
  inflate: boolean
  budget: BodyBudget
  /** Whose share of the budget the body takes. */
  sender: string
}

/**
 * Reads a whole body. Throws `body_too_large`, `body_timeout`, `unsupported_media_type` for an encoding that is
 * not taken, `malformed_body` for one that breaks off or does not decompress, `rate_limited` when the sender's share of the
 * budget is used up, and `unavailable` when that of all bodies is. After that the sender has 5 s to be done with sending.
 */
export function readBody(req: IncomingMessage, limits: BodyLimits): Buffer | Promise<Buffer> {
  // A small body mostly came together with the headers.
  const length = Number(req.headers['content-length'])
  if (req.readableLength !== length || length > limits.maxBytes || isEncoded(req)) return receive(req, limits)
  // Without a length it would be the first piece alone.
  const body: Buffer | null = req.read(length)
  req.resume()
  return body ?? Buffer.alloc(0)
}

async function receive(req: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const reservation = limits.budget.open(limits.sender)
  let timer: NodeJS.Timeout | undefined
  let source: Readable = req
  try {
    if (Number(req.headers['content-length']) > limits.maxBytes && !isEncoded(req))
      throw new Problem('body_too_large')
    source = decoded(req, limits.inflate)
    return await new Promise<Buffer>((resolve, reject) => {
      timer = setTimeout(() => reject(new Problem('body_timeout')), limits.timeoutMs)
      collect(source, { maxBytes: limits.maxBytes, take: reservation.take, resolve, reject })
      req.once('error', (cause) => reject(new Problem('malformed_body', { cause })))
      req.once('close', () => {
        if (!req.complete) reject(new Problem('malformed_body', { detail: 'The body broke off.' }))
      })
    })
  } catch (error) {
    letGo(req)
    // Else it would go on with what it has been given: 64 KiB may be gigabytes.
    if (source !== req) source.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    reservation.close()
  }
}

function collect(
  source: Readable,
  options: {
    maxBytes: number
    take: BodyReservation['take']
    resolve(body: Buffer): void
    reject(error: Error): void
  },
): void {
  const { maxBytes, take, resolve, reject } = options
  const chunks: Buffer[] = []
  let bytes = 0
  const refuse = (problem: Problem) => {
    source.removeAllListeners('data')
    chunks.length = 0
    reject(problem)
  }
  source.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) return refuse(new Problem('body_too_large'))
    const noRoom = take(chunk.length)
    if (noRoom !== undefined) return refuse(noRoomProblem(noRoom))
    chunks.push(chunk)
  })
  source.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
  source.once('error', (cause) => refuse(new Problem('malformed_body', { cause })))
}

function noRoomProblem(reason: NoRoom): Problem {
  return reason === 'sender'
    ? new Problem('rate_limited', { detail: 'Too many large bodies of yours are being read.' })
    : new Problem('unavailable', { detail: 'Too many large bodies are being read.' })
}

function isEncoded(req: IncomingMessage): boolean {
  return (req.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
}

const DECODERS = { gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress }

function decoded(req: IncomingMessage, inflate: boolean): Readable {
  if (!isEncoded(req)) return req
  const encoding = String(req.headers['content-encoding']).toLowerCase()
  if (!inflate || !Object.hasOwn(DECODERS, encoding))
    throw new Problem('unsupported_media_type', { detail: 'This content encoding is not taken.' })
  return req.pipe(DECODERS[encoding as keyof typeof DECODERS]())
}

/** Discards what is still coming, so that the sender gets to read the response; endless senders are cut off. */
function letGo(req: IncomingMessage): void {
  req.unpipe()
  req.resume()
  const cut = setTimeout(() => {
    if (!req.complete) req.socket.destroy()
  }, LINGER_MS)
  cut.unref()
  req.once('close', () => clearTimeout(cut))
}

/**
 * Parses JSON whose depth was checked before anything recurses; undefined for an empty body. Throws `too_deep`,
 * `too_many_members` and `malformed_json`.
 */
export function parseBytes(
  bytes: Buffer,
  { maxMembers, parse = parseJson }: { maxMembers?: number; parse?: (text: string) => unknown } = {},
): unknown {
  if (bytes.length === 0) return undefined
  checkBytes(bytes, maxMembers)
  try {
    return parse(bytes.toString())
  } catch (cause) {
    throw new Problem('malformed_json', { cause })
  }
}
