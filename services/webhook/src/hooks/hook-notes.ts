import type { Log } from '@parley/shared/log'
import { LRUCache } from 'lru-cache'
import type { Collections, HookNotes } from '../database.ts'

export interface HookLog {
  handshake(channel: { workspace: number; _id: number }): void
  received(channel: { workspace: number; _id: number }): void
  failed(channel: { workspace: number; _id: number }, code: string): void
}

const EVERY_MS = 1_000
const MAX_REMEMBERED = 10_000

/** Writes the notes in the background, each kind at most once a second per channel: anybody may cause an error. */
export function createHookLog(hooks: Collections['hooks'], log: Log): HookLog {
  const recent = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: EVERY_MS })
  const note = (
    { workspace, _id: channel }: { workspace: number; _id: number },
    fields: Partial<HookNotes>,
  ) => {
    const _id = `${workspace}/${channel}`
    const key = `${_id}/${Object.keys(fields)}`
    if (recent.has(key)) return
    recent.set(key, true)
    const write = () =>
      hooks.updateOne({ _id }, { $set: { workspace, channel, ...fields } }, { upsert: true })
    // Of two first notes at once, one finds the other's there.
    write()
      .catch(write)
      .catch((error: Error) => log.debug({ reason: error.message }, 'note about a webhook not written'))
  }
  return {
    handshake: (channel) => note(channel, { handshakeAt: new Date() }),
    received: (channel) => note(channel, { receivedAt: new Date() }),
    failed: (channel, code) => note(channel, { lastError: { at: new Date(), code } }),
  }
}
