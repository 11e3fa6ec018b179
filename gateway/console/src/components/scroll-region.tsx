import type { ComponentChildren, Ref } from 'preact'

interface ScrollRegionProps {
  as?: 'div' | 'pre' | 'aside'
  class?: string
  /** A log is read out as it grows. */
  role?: 'log'
  label?: string
  element?: Ref<HTMLDivElement>
  onScroll?: (element: HTMLElement) => void
  children: ComponentChildren
}

/** An area that scrolls by itself. It has to be reached by keyboard, or nobody without a pointer sees all of it. */
export function ScrollRegion({ as = 'div', label, element, onScroll, ...own }: ScrollRegionProps) {
  // Either takes what is set here.
  const Tag = as as 'div'
  return (
    <Tag
      {...own}
      {...(element && { ref: element })}
      {...(onScroll && { onScroll: (event: Event) => onScroll(event.currentTarget as HTMLElement) })}
      aria-label={label}
      tabIndex={0}
    />
  )
}
