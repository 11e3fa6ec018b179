import { useEffect, useRef, useState } from 'preact/hooks'

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(input|textarea|select)$/i.test(target.tagName)

/** Calls a handler for a key that is pressed outside of fields and dialogs, without modifiers. */
export function useKeys(handlers: Record<string, () => void>): void {
  const latest = useRef(handlers)
  latest.current = handlers
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]') !== null) return
      const handler = latest.current[event.key]
      if (handler === undefined) return
      event.preventDefault()
      handler()
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [])
}

/** `j` and `k` move through rows, Enter opens one. Returns which row is current; -1 before the first move. */
export function useRows({ length, open }: { length: number; open(at: number): void }): number {
  const [at, setAt] = useState(-1)
  const move = (to: number) => {
    const row = Math.max(0, Math.min(length - 1, to))
    setAt(row)
    document.querySelectorAll('[data-row]')[row]?.scrollIntoView({ block: 'nearest' })
  }
  useKeys({
    j: () => move(at + 1),
    k: () => move(at - 1),
    Enter: () => at >= 0 && at < length && open(at),
  })
  return at
}
