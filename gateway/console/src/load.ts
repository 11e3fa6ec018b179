import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { unreachable } from './api.ts'
import { useStore } from './store.ts'

export interface Loaded<T> {
  data: T | undefined
  error: Error | undefined
  reload(): void
}

const WHILE_UNREACHABLE_MS = 1_500

/**
 * Loads what `load` returns, again when `key` changes and every `everyMs` while the page is visible. While something
 * can't be reached, it tries every 1.5 s; what was loaded before stays.
 */
export function useLoad<T>(
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs }: { everyMs?: number } = {},
): Loaded<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: Error }>({ key })
  const [run, setRun] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const isUnreachable = useStore(unreachable).size > 0
  const period = isUnreachable ? WHILE_UNREACHABLE_MS : everyMs
  // `run` asks for the same again.
  useEffect(() => {
    const stop = new AbortController()
    const once = async () => {
      try {
        const data = await latest.current(stop.signal)
        if (!stop.signal.aborted) setState({ key, data })
      } catch (thrown) {
        if (stop.signal.aborted) return
        const error = thrown instanceof Error ? thrown : new Error(String(thrown))
        setState((before) => ({ ...(before.key === key ? before : { key }), error }))
      }
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    const loop = async () => {
      if (!document.hidden) await once()
      if (period !== undefined && !stop.signal.aborted) timer = setTimeout(loop, period)
    }
    void loop()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [key, period, run])
  const reload = useCallback(() => setRun((before) => before + 1), [])
  const current = state.key === key ? state : { key }
  return { data: current.data, error: current.error, reload }
}
