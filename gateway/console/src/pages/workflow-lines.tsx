import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { StepForm } from '../setup/setup-form.ts'

const WIDTH = 40
/** How far from the edge of its card a line begins, and ends. */
const INSET = 20
const HEAD = 5

/** Cards of steps, with a line from each step to one that is not the card after it. Their selects say the same in words. */
export function WorkflowLines({
  steps,
  children,
}: {
  steps: readonly StepForm[]
  children: ComponentChildren
}) {
  const box = useRef<HTMLDivElement>(null)
  const [cards, setCards] = useState<readonly { top: number; bottom: number }[]>([])
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = () => {
      const all = [...element.querySelectorAll<HTMLElement>('.step-card')]
      setCards(all.map(({ offsetTop: top, offsetHeight }) => ({ top, bottom: top + offsetHeight })))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [steps.length])
  const lines = steps.flatMap(({ next }, from) => {
    const to = steps.findIndex(({ id }) => id === next)
    const [begin, end] = [cards[from], cards[to]]
    return to === from + 1 || begin === undefined || end === undefined
      ? []
      : [lineOf(begin.bottom - INSET, end.top + INSET)]
  })
  return (
    <div ref={box} class={lines.length === 0 ? 'step-graph' : 'step-graph with-lines'}>
      {children}
      {lines.length > 0 && (
        <svg class="step-lines" aria-hidden="true" width={WIDTH} height={cards.at(-1)?.bottom}>
          {lines.map((d) => (
            <path key={d} d={d} />
          ))}
        </svg>
      )}
    </div>
  )
}

const lineOf = (from: number, to: number): string =>
  `M0 ${from}C${WIDTH} ${from} ${WIDTH} ${to} 1 ${to}M${HEAD} ${to - HEAD}L1 ${to}L${HEAD} ${to + HEAD}`
