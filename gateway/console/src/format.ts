const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' })
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const NUMBER = new Intl.NumberFormat()
const FIGURES = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 3 })
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** A time in the viewer's zone: the clock today, with the date before. */
export function shortTime(iso: string): string {
  const date = new Date(iso)
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY.format(date)
}

/** The same in full, with the zone. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso))

/** How long ago, or in how long, to the nearest unit. */
export function relativeTime(iso: string): string {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1_000
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1]
  return RELATIVE.format(Math.round(seconds / size), unit)
}

/** A time as the browser's field has it, in the viewer's zone. */
export function localTime(iso: string | undefined): string {
  const date = new Date(iso ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

export const count = (value: number): string => NUMBER.format(value)

/** A number of things, by the name of one. */
export const counted = (value: number, one: string): string =>
  `${count(value)} ${one}${value === 1 ? '' : 's'}`

/** A duration in milliseconds, to three figures in the unit that suits it. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${NUMBER.format(Math.round(ms))} ms`
  if (ms < 60_000) return `${FIGURES.format(ms / 1_000)} s`
  return ms < 3_600_000 ? `${FIGURES.format(ms / 60_000)} min` : `${FIGURES.format(ms / 3_600_000)} h`
}
