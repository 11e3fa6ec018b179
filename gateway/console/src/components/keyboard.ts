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

/**
 * `j` and `k` move through rows, and put the focus on the link of the row, which Enter follows as it follows any other.
 * Returns which row is current; -1 before the first move.
 */
export function useRows({ length }: { length: number }): number {
  const [at, setAt] = useState(-1)
  const move = (step: number) => {
    const rows = [...document.querySelectorAll('[data-row]')]
    // A row that comes later would be current without the focus.
    if (rows.length === 0) return
    // A list that changes takes the row with the focus elsewhere.
    const focused = rows.findIndex((row) => row.contains(document.activeElement))
    const to = Math.max(0, Math.min(length - 1, (focused < 0 ? at : focused) + step))
    setAt(to)
    rows[to]?.scrollIntoView({ block: 'nearest' })
    rows[to]?.querySelector('a')?.focus({ preventScroll: true })
  }
  useKeys({ j: () => move(1), k: () => move(-1) })
  return at
}
