import { pause } from '@parley/client/pause'

/** A busy machine is far behind; the stream is known by its last event for a minute. */
const AT_MOST_MS = 45_000

/** A message of a tab to itself, which arrives after all that other tabs have said before; other tabs ignore it. */
export interface Mark {
  mark: string
}

/** Resolves once the channel has heard all that other tabs have said until now, or 45 seconds have passed. */
export async function caughtUp(channel: BroadcastChannel, signal: AbortSignal): Promise<void> {
  const mark = crypto.randomUUID()
  const { promise, resolve } = Promise.withResolvers<void>()
  const hear = ({ data }: MessageEvent<Partial<Mark> | string>) => {
    if (typeof data === 'object' && data.mark === mark) resolve()
  }
  channel.addEventListener('message', hear)
  // A channel does not hear itself.
  const other = new BroadcastChannel(channel.name)
  other.postMessage({ mark } satisfies Mark)
  const ending = new AbortController()
  await Promise.race([promise, pause(AT_MOST_MS, AbortSignal.any([signal, ending.signal]))])
  ending.abort()
  channel.removeEventListener('message', hear)
  other.close()
}
