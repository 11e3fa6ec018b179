import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const HEADER = /^sha256=([0-9a-f]{64})$/i
const DIGEST_BYTES = 32

/** Compares two texts in a time that reveals nothing about them; false, after the same work, when one is missing. */
export function sameText(one: string | undefined, other: string | undefined): boolean {
  const same = timingSafeEqual(hash(one), hash(other))
  return same && one !== undefined && other !== undefined && other !== ''
}

function hash(text = ''): Buffer {
  return createHash('sha256').update(text).digest()
}

/**
 * Whether `header` (`X-Hub-Signature-256`) is the HMAC of the bytes under `secret`. The work is the same where
 * there is no secret or no header, and the answer false.
 */
export function isSigned(options: {
  bytes: Buffer
  header: string | string[] | undefined
  secret: string | undefined
}): boolean {
  const { bytes, header, secret } = options
  const given = HEADER.exec(typeof header === 'string' ? header : '')?.[1]
  const expected = createHmac('sha256', secret ?? '')
    .update(bytes)
    .digest()
  const same = timingSafeEqual(
    expected,
    given === undefined ? Buffer.alloc(DIGEST_BYTES) : Buffer.from(given, 'hex'),
  )
  return same && given !== undefined && secret !== undefined && secret !== ''
}
