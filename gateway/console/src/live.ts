import { mark, parley, streamIsOpen } from './api.ts'
import { may } from './rights.ts'

/** What happens in the workspace, as the event stream says it. */
export interface LiveEvent {
  event: string
  data: { _id?: string; message?: string; thread?: string; channel?: string; extId?: string } & Record<
    string,
    unknown
  >
}

type Listener = (event: LiveEvent) => void

const AGAIN_MS = 5_000
const QUIET_MS = 6_000
const listeners = new Set<Listener>()

/** Calls `listener` with each event until the returned function is called. */
export function onLive(listener: Listener): () => void {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/**
 * Follows the event stream of the workspace until `signal`, where the role may read something of it. While it is closed
 * for more than 6 s that counts as unreachable, and lists ask again by themselves.
 */
export async function followLive(signal: AbortSignal): Promise<void> {
  if (!may('read', 'threads') && !may('read', 'messages')) return
  const stopWatching = watchStream()
  signal.addEventListener('abort', stopWatching)
  while (!signal.aborted) {
    try {
      for await (const { event, data } of parley.events('/rest/events', { signal })) report(event, data)
    } catch {
      // It is opened again below; until then the lists ask by themselves.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

function report(event: string, text: string): void {
  const data = JSON.parse(text) as LiveEvent['data']
  for (const listener of [...listeners]) listener({ event, data })
}

/** A short break is nothing to speak of. */
function watchStream(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (streamIsOpen.get()) mark('events', false)
    else timer = setTimeout(() => mark('events', true), QUIET_MS)
  }
  const unsubscribe = streamIsOpen.subscribe(look)
  look()
  return () => {
    clearTimeout(timer)
    unsubscribe()
    mark('events', false)
  }
}
