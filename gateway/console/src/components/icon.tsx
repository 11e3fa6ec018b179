const PATHS = {
  logo: 'M4 4h16v11h-9l-5 5v-5H4z',
  gauge: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
  chat: 'M4 5h13v9h-7l-4 3.5V14H4zM20 9v9.5L16.5 16H11',
  bolt: 'M13 3L5 14h6l-1 7 8-11h-6z',
  list: 'M4 6h16M4 12h16M4 18h10',
  spark: 'M12 3l2.2 6.8L21 12l-6.8 2.2L12 21l-2.2-6.8L3 12l6.8-2.2z',
  plug: 'M9 3v5M15 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  people:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6.5M18 14.5a6.5 6.5 0 0 1 3.5 5.5',
} as const

export type IconName = keyof typeof PATHS

/** A drawing beside a text that says the same. */
export const Icon = ({ name }: { name: IconName }) => (
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
)
