import { createHash } from 'node:crypto'

/** What makes a message the same one when it comes again. */
export type Origin =
  | { source: 'api'; workspace: number; key: string; body: Buffer }
  | { source: 'meta'; workspace: number; channel: string; id: string; status?: string }

/**
 * The id of a message that may come again: derived from where it came from, in the form of a UUID (version 8,
 * RFC 9562), so that the store still knows a repeat when the remembered ids are lost.
 */
export function derivedMessageId(origin: Origin): string {
  const digest = createHash('sha256')
  if (origin.source === 'api') {
    digest.update(`api\0${origin.workspace}\0${origin.key}\0`).update(origin.body)
  } else {
    const { workspace, channel, id, status } = origin
    // As JSON, because an external id may hold any character.
    digest.update(`meta\0${JSON.stringify([workspace, channel, id, status ?? null])}`)
  }
  return asUuid(digest.digest())
}

function asUuid(hash: Buffer): string {
  hash[6] = (hash.readUInt8(6) & 0x0f) | 0x80
  hash[8] = (hash.readUInt8(8) & 0x3f) | 0x80
  const hex = hash.toString('hex', 0, 16)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
