import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { streamOpening, unreachable } from './api.ts'
import { session } from './session.ts'
import { type LiveEvent, onLive } from './shared-stream.ts'
import { useStore } from './store.ts'

export interface Loaded<T> {
  data: T | undefined
  error: Error | undefined
  reload(): void
  /** Shows what is known to be there now; it is loaded again too. */
  put(data: T): void
}

export interface LoadOptions {
  /** Loads it again so often while the page is visible. */
  everyMs?: number
  /** The events of the stream after which it is loaded again, at most once a second. */
  live?: (event: LiveEvent) => boolean
  /** After events at most so often; once a second where it is left out. */
  atMostMs?: number
  /** Also while nobody sees the page. */
  isInBackground?: boolean
}

const WHILE_UNREACHABLE_MS = 1_500
const AT_MOST_MS = 1_000
/** Loading after events takes a fifth of the time at most, so that it slows down with a machine or a gateway that is busy. */
const PAUSE_SHARE = 4
/** While events say what happens, asking is for what they don't say. */
const LIVE_FACTOR = 10

/**
 * Loads what `load` returns, again when `key` changes and every `everyMs` while the page is visible and its session lives. While something
 * can't be reached, it tries every 1.5 s; what was loaded before stays.
 */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs, live, atMostMs = AT_MOST_MS, isInBackground = false }: LoadOptions = {},
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: Error }>({ key })
  const [run, setRun] = useState(0)
  const latest = useRef(load)
  latest.current = load
  /** Nobody sees what is loaded, or nobody may. */
  const isIdle = () => (document.hidden && !isInBackground) || session.get() === 'ended'
  const loading = useRef<Promise<void>>(undefined)
  const isMissed = useRef(false)
  const tookMs = useRef(0)
  const isUnreachable = [...useStore(unreachable)].some((name) => name !== 'events')
  const streamed = useStore(streamOpening)
  const opening = live === undefined ? 0 : streamed
  const period = isUnreachable ? WHILE_UNREACHABLE_MS : everyMs && everyMs * (opening > 0 ? LIVE_FACTOR : 1)
  // `run` asks for the same again, and so does another opening of the stream.
  useEffect(() => {
    const stop = new AbortController()
    const once = async () => {
      const startedAt = performance.now()
      try {
        const data = await latest.current(stop.signal)
        tookMs.current = performance.now() - startedAt
        if (!stop.signal.aborted) setState({ key, data })
      } catch (thrown) {
        if (stop.signal.aborted) return
        isMissed.current ||= isIdle()
        const error = thrown instanceof Error ? thrown : new Error(String(thrown))
        setState((before) => ({ ...(before.key === key ? before : { key }), error }))
      }
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    const loop = async () => {
      isMissed.current = isIdle()
      if (!isIdle()) {
        loading.current = once()
        await loading.current
      }
      if (period !== undefined && !stop.signal.aborted) timer = setTimeout(loop, period)
    }
    void loop()
    const end = () => {
      stop.abort()
      clearTimeout(timer)
    }
    // Before the requests are ended, which is no error then.
    addEventListener('pagehide', end, { capture: true })
    return () => {
      removeEventListener('pagehide', end, { capture: true })
      end()
    }
  }, [key, period, run, opening])
  const reload = useCallback(() => setRun((before) => before + 1), [])
  const reloadAfter = useCallback(async () => {
    // A load in progress may take longer than the time to the next event.
    await loading.current
    if (isIdle()) isMissed.current = true
    else reload()
  }, [reload])
  // Of what nobody sees nothing is looked at: that is done when it is shown again.
  const isFollowed = (event: LiveEvent) => {
    if (isIdle()) isMissed.current = true
    return !isIdle() && live?.(event) === true
  }
  const pauseMs = () => Math.max(atMostMs, tookMs.current * PAUSE_SHARE)
  useLive(live && isFollowed, { reload: reloadAfter, pauseMs })
  useEffect(() => {
    const show = () => {
      if (!isIdle() && isMissed.current) reload()
    }
    const restore = ({ persisted }: PageTransitionEvent) => {
      if (persisted) reload()
    }
    document.addEventListener('visibilitychange', show)
    addEventListener('pageshow', restore)
    const unsubscribe = session.subscribe(show)
    return () => {
      unsubscribe()
      document.removeEventListener('visibilitychange', show)
      removeEventListener('pageshow', restore)
    }
  }, [reload])
  const put = (data: T) => {
    setState({ key, data })
    reload()
  }
  const current = state.key === key ? state : { key }
  return { data: current.data, error: current.error, reload, put }
}

/** Reloads after events, the last one of a burst included. */
function useLive(
  live: LoadOptions['live'],
  { reload, pauseMs }: { reload(): Promise<void>; pauseMs(): number },
): void {
  const latest = useRef({ live, pauseMs })
  latest.current = { live, pauseMs }
  const isFollowed = live !== undefined
  useEffect(() => {
    if (!isFollowed) return
    let timer: ReturnType<typeof setTimeout> | undefined
    let lastAt = 0
    const run = async () => {
      await reload()
      timer = undefined
      lastAt = performance.now()
    }
    const unfollow = onLive((event) => {
      const { live, pauseMs } = latest.current
      if (timer !== undefined || live?.(event) !== true) return
      timer = setTimeout(run, Math.max(0, lastAt + pauseMs() - performance.now()))
    })
    return () => {
      clearTimeout(timer)
      unfollow()
    }
  }, [isFollowed, reload])
}
