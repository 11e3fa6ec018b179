import { mark, streamOpening } from './api.ts'
import { may } from './rights.ts'
import { shareStream } from './shared-stream.ts'

/** What happens in the workspace, as the event stream says it. */
export interface LiveEvent {
  event: string
  data: { _id?: string; message?: string; thread?: string; channel?: string; extId?: string } & Record<
    string,
    unknown
  >
}

type Listener = (event: LiveEvent) => void

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
export function followLive(signal: AbortSignal): void {
  if (!may('read', 'threads') && !may('read', 'messages')) return
  shareStream({ signal, report, onFollow: watchStream })
}

function report({ event, data: text }: { event: string; data: string }): void {
  const data = JSON.parse(text) as LiveEvent['data']
  for (const listener of [...listeners]) listener({ event, data })
}

/** A short break is nothing to speak of. */
function watchStream(signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (streamOpening.get() > 0) mark('events', false)
    else timer = setTimeout(() => mark('events', true), QUIET_MS)
  }
  const unsubscribe = streamOpening.subscribe(look)
  look()
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    unsubscribe()
    mark('events', false)
  })
}
