import { pause } from '@parley/client/pause'
import { beginOpening, mark, parley, streamOpening } from './api.ts'
import { caughtUp, type Mark } from './caught-up.ts'
import { areNoticesOn } from './notices.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { may } from './rights.ts'
import { account } from './session.ts'
import { createStore } from './store.ts'

const QUIET_MS = 6_000
const listeners = new Set<Listener>()

interface StreamEvent {
  id: string
  event: string
  data: string
}

/** A message from one tab to the others. */
type Note = 'asks' | { isOpen: boolean } | { events: StreamEvent[] } | Mark

interface Reader {
  /** Ends it for good. */
  signal: AbortSignal
  report(event: StreamEvent): void
  /** Called whenever the tab begins to follow; the signal is aborted when it stops to for a while. */
  onFollow(signal: AbortSignal): void
}

/** As long as the gateway surely has in memory what happened. */
const RECENT_MS = 60_000
const HIDDEN_MS = 60_000
const AGAIN_MS = 5_000
/** Tabs are told of events together: a message to all of them costs the browser more than what is in it. */
const TOGETHER_MS = 100
const BEAT_MS = 15_000
/** Three beats: the tab that reads the stream is suspended, or gone. */
const SILENCE_MS = 45_000

/**
 * Follows the event stream of the account that is signed in. A browser has six connections to a host, so its tabs read
 * one stream together: whichever holds the lock reads it and tells the others. A tab has no part in it once it is left,
 * frozen or, without notices, hidden for a minute, so that it keeps neither connection nor lock; when it is seen again
 * its lists load what they may have missed. Where the browser has no locks there is no stream, and lists ask by themselves.
 */
function shareStream({ signal, report, onFollow }: Reader): void {
  const key = account.get()
  if (key === undefined || navigator.locks === undefined || signal.aborted) return
  const last = { id: '', at: Number.NEGATIVE_INFINITY }
  /** A token may be another account's from one request to the next. */
  const isOurs = () => account.get() === key
  const heard = (event: StreamEvent) => {
    if (event.id !== '') Object.assign(last, { id: event.id, at: Date.now() })
    if (event.event === 'gap') beginOpening()
    report(event)
  }
  const follow = (left: AbortSignal) => {
    const channel = createChannel({ key, left, heard: (event) => isOurs() && heard(event) })
    // Nothing else runs in a page that is about to be frozen, and the lock must not be frozen with it.
    const end = new Promise<void>((resolve) => left.addEventListener('abort', () => resolve()))
    const read = async () => {
      while (!left.aborted) {
        const recent = Date.now() - last.at < RECENT_MS ? { lastEventId: last.id } : {}
        try {
          for await (const event of parley.events('/rest/events', { signal: left, ...recent })) {
            if (!isOurs()) continue
            channel.pass(event)
            heard(event)
          }
        } catch {
          // It is opened again below; until then the lists ask by themselves.
        }
        await pause(AGAIN_MS, left)
      }
    }
    // The stream of whoever was signed in before has to end first: of a browser there is one in all.
    const lead = () => channel.lead(() => oneAtATime('events', left, () => Promise.race([read(), end])))
    oneAtATime(`events.${key}`, left, lead).catch(() => undefined)
    onFollow(left)
  }
  whileInUse(signal, follow)
}

/** True while this tab reads the stream for all tabs of the account. */
export const isReader = createStore(false)
let leading = 0

/** Tells the tabs of an account what is read, and hears it from the one that reads. */
function createChannel(options: { key: string; left: AbortSignal; heard(event: StreamEvent): void }) {
  const { key, left, heard } = options
  const channel = new BroadcastChannel(`parley.stream.${key}`)
  let isLeading = false
  let silence: ReturnType<typeof setTimeout> | undefined
  let events: StreamEvent[] = []
  let passing: ReturnType<typeof setTimeout> | undefined
  let passedAt = Number.NEGATIVE_INFINITY
  const passAll = () => {
    clearTimeout(passing)
    passing = undefined
    if (events.length === 0) return
    passedAt = performance.now()
    channel.postMessage({ events } satisfies Note)
    events = []
  }
  const notify = (note: Note) => {
    if (left.aborted) return
    passAll()
    channel.postMessage(note)
  }
  const notifyOfState = () => notify({ isOpen: streamOpening.get() > 0 })
  channel.onmessage = ({ data: note }: MessageEvent<Note>) => {
    if (left.aborted) return
    if (isLeading) return note === 'asks' ? notifyOfState() : undefined
    if (note === 'asks' || 'mark' in note) return
    clearTimeout(silence)
    silence = setTimeout(() => streamOpening.set(0), SILENCE_MS)
    if ('events' in note) note.events.forEach(heard)
    else if (!note.isOpen) streamOpening.set(0)
    else if (streamOpening.get() === 0) beginOpening()
  }
  left.addEventListener('abort', () => {
    clearTimeout(silence)
    passAll()
    channel.close()
    streamOpening.set(0)
  })
  notify('asks')
  return {
    /** Passes an event on to the other tabs: at once, or together with those that follow it closely. */
    pass(event: StreamEvent): void {
      if (left.aborted) return
      events.push(event)
      // Timers of a hidden tab are late.
      if (performance.now() - passedAt >= TOGETHER_MS) passAll()
      else passing ??= setTimeout(passAll, TOGETHER_MS)
    },
    /** Runs as the one that the others hear. */
    async lead(run: () => Promise<void>): Promise<void> {
      // Events that the former tab has passed on are heard first: the stream would bring them a second time.
      await caughtUp(channel, left)
      isLeading = true
      leading += 1
      isReader.set(true)
      clearTimeout(silence)
      streamOpening.set(0)
      notifyOfState()
      const unsubscribe = streamOpening.subscribe(notifyOfState)
      const beats = setInterval(notifyOfState, BEAT_MS)
      try {
        await run()
      } finally {
        leading -= 1
        isReader.set(leading > 0)
        clearInterval(beats)
        unsubscribe()
      }
    },
  }
}

/** Calls `use` whenever the page is in use until `signal` is aborted; what it is given is aborted when the page is left. */
function whileInUse(signal: AbortSignal, use: (left: AbortSignal) => void): void {
  let using: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  const leave = () => {
    clearTimeout(hiding)
    using?.abort()
    using = undefined
  }
  const begin = () => {
    if (using !== undefined) return
    using = new AbortController()
    use(using.signal)
  }
  const look = () => {
    clearTimeout(hiding)
    if (document.hidden) hiding = setTimeout(rest, HIDDEN_MS)
    else begin()
  }
  /** Whoever wants notices has one tab in the background that goes on; one that is seen comes before it each time. */
  const rest = () => {
    leave()
    if (!areNoticesOn()) return
    begin()
    look()
  }
  // Those of the document do not all bubble.
  const options = { signal, capture: true }
  for (const name of ['pageshow', 'resume', 'visibilitychange']) addEventListener(name, look, options)
  for (const name of ['pagehide', 'freeze']) addEventListener(name, leave, options)
  signal.addEventListener('abort', leave)
  begin()
  look()
}

/** An event of the workspace, as it comes in the event stream. */
export interface LiveEvent {
  event: string
  data: { _id?: string; message?: string; thread?: string; channel?: string; extId?: string } & Record<
    string,
    unknown
  >
}

type Listener = (event: LiveEvent) => void

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
  let parsed: LiveEvent['data'] | undefined
  const live: LiveEvent = {
    event,
    // Tabs that nobody sees need few of them.
    get data() {
      parsed ??= JSON.parse(text) as LiveEvent['data']
      return parsed
    },
  }
  for (const listener of [...listeners]) listener(live)
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
