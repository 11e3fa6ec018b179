import { z } from 'zod'
import type { ThreadName } from './thread-record.ts'

const position = z.tuple([z.string(), z.string()])

/** The opaque id of a thread in the API: base64url over its channel and its `extId`. */
export function publicId({ channel, extId }: Omit<ThreadName, 'workspace'>): string {
  return Buffer.from(JSON.stringify([channel, extId])).toString('base64url')
}

/** Channel and `extId` of what {@link publicId} made; undefined for any other text. */
export function nameIn(id: string): Omit<ThreadName, 'workspace'> | undefined {
  try {
    const { data } = position.safeParse(JSON.parse(Buffer.from(id, 'base64url').toString()))
    if (data === undefined) return undefined
    const [channel, extId] = data
    return publicId({ channel, extId }) === id ? { channel, extId } : undefined
  } catch {
    return undefined
  }
}
