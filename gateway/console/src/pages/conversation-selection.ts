import { useRef, useState } from 'preact/hooks'
import { useKeys } from '../components/keyboard.ts'
import type { Thread } from '../threads.ts'

export interface Selection {
  /** Rows can be selected. */
  isOn: boolean
  chosen: Thread[]
  has(thread: Thread): boolean
  /** With the rows between it and the last one where the click was with Shift. */
  toggle(thread: Thread, options?: { isRange: boolean }): void
  all(): void
  begin(): void
  end(): void
}

/** Which of the rows that are loaded are selected; one that leaves the list is not any more. */
export function useSelection(rows: readonly Thread[], at: number): Selection {
  const [isOn, setOn] = useState(false)
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const last = useRef<string>(undefined)
  const chosen = isOn ? rows.filter(({ _id }) => ids.has(_id)) : []
  const toggle: Selection['toggle'] = ({ _id }, { isRange } = { isRange: false }) => {
    const from = rows.findIndex((one) => one._id === last.current)
    const to = rows.findIndex((one) => one._id === _id)
    const range = isRange && from >= 0 ? rows.slice(Math.min(from, to), Math.max(from, to) + 1) : []
    last.current = _id
    setOn(true)
    setIds((before) => {
      const after = new Set(before)
      if (range.length > 0) for (const one of range) after.add(one._id)
      else if (!after.delete(_id)) after.add(_id)
      return after
    })
  }
  const end = () => {
    setOn(false)
    setIds(new Set())
  }
  const current = rows[at]
  useKeys({
    ...(current && { x: () => toggle(current) }),
    ...(isOn && { Escape: end }),
  })
  return {
    ...{ isOn, chosen, toggle, end },
    has: ({ _id }) => ids.has(_id),
    all: () => setIds(new Set(chosen.length === rows.length ? [] : rows.map(({ _id }) => _id))),
    begin: () => setOn(true),
  }
}
