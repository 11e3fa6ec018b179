import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { Proof } from '@parley/shared/providers/inbound'

/** Compares two texts in a time that reveals nothing about them; false, after the same work, when one is missing. */
export function sameText(one: string | undefined, other: string | undefined): boolean {
  const same = timingSafeEqual(digestOf(one), digestOf(other))
  return same && one !== undefined && other !== undefined && other !== ''
}

function digestOf(text = ''): Buffer {
  return createHash('sha256').update(text).digest()
}

/** True when the proof holds for the raw bytes. The work is the same where something is missing, and the result false. */
export function isProven(proof: Proof, bytes: Buffer): boolean {
  if (proof.kind === 'text') return sameText(proof.given, proof.expected)
  const { hash, encoding, given, expected: secret } = proof
  const expected = createHmac(hash, secret ?? '')
    .update(bytes)
    .digest()
  const code = Buffer.from(given ?? '', encoding)
  const isCode = code.length === expected.length
  const same = timingSafeEqual(expected, isCode ? code : Buffer.alloc(expected.length))
  return same && isCode && secret !== undefined && secret !== ''
}
