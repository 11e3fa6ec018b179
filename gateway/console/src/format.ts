import { currentLanguage, t } from './language.ts'

const LANGUAGE = currentLanguage()
/** The region of a browser that is in the same language decides how dates are written, such as `en-GB`. */
const LOCALE =
  globalThis.navigator?.languages?.find((tag) => tag.split('-', 1)[0] === LANGUAGE.split('-', 1)[0]) ??
  LANGUAGE
const RELATIVE = new Intl.RelativeTimeFormat(LOCALE, { numeric: 'auto', style: 'short' })
const EXACT = new Intl.DateTimeFormat(LOCALE, { dateStyle: 'medium', timeStyle: 'long' })
const CLOCK = new Intl.DateTimeFormat(LOCALE, { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const DAY_AND_CLOCK = new Intl.DateTimeFormat(LOCALE, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
})
const DAY = new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short' })
const WEEKDAY = new Intl.DateTimeFormat(LOCALE, { weekday: 'long', day: 'numeric', month: 'long' })
const LANGUAGE_NAMES = new Intl.DisplayNames(LOCALE, { type: 'language', fallback: 'code' })
const NUMBER = new Intl.NumberFormat(LOCALE)
const FIGURES = new Intl.NumberFormat(LOCALE, { maximumSignificantDigits: 3 })
const PERCENT = new Intl.NumberFormat(LOCALE, { style: 'percent', maximumFractionDigits: 1 })
const ALL = new Intl.ListFormat(LOCALE, { type: 'conjunction' })
const ANY = new Intl.ListFormat(LOCALE, { type: 'disjunction' })
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** A time in the viewer's zone: the clock today, with the date before. */
export function shortTime(iso: string): string {
  const date = new Date(iso)
  return date.toDateString() === new Date().toDateString() ? CLOCK.format(date) : DAY_AND_CLOCK.format(date)
}

/** The same in full, with the zone. */
export const exactTime = (iso: string): string => EXACT.format(new Date(iso))

/** The day without its year, in the viewer's zone. */
export const shortDay = (date: Date): string => DAY.format(date)

/** The day of the week with it. */
export const longDay = (date: Date): string => WEEKDAY.format(date)

/** Hour and minute, in the viewer's zone or another one. */
export const clockTime = (date: Date, timeZone?: string): string =>
  new Intl.DateTimeFormat(LOCALE, { timeZone, hour: '2-digit', minute: '2-digit' }).format(date)

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

/** A share between 0 and 1. */
export const percent = (share: number): string => PERCENT.format(share)

/** A number with so many digits behind its point. */
export const rounded = (value: number, digits: number): string =>
  value.toLocaleString(LOCALE, { minimumFractionDigits: digits, maximumFractionDigits: digits })

/** Texts of which all are meant: "a, b and c". */
export const allOf = (texts: readonly string[]): string => ALL.format(texts)

/** Texts of which one is meant: "a, b or c". */
export const anyOf = (texts: readonly string[]): string => ANY.format(texts)

/** Returns the label of something that has a number and no name. */
export const numbered = (id: number | string): string => t('No. {id}', { id: String(id) })

/** The name of a language by its code, such as `pt_BR`, as providers write it. */
export function languageName(code: string): string {
  try {
    return `${LANGUAGE_NAMES.of(code.replaceAll('_', '-')) ?? code} (${code})`
  } catch {
    return code
  }
}

/** A duration in milliseconds, to three figures in the unit that suits it. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${NUMBER.format(Math.round(ms))} ms`
  if (ms < 60_000) return `${FIGURES.format(ms / 1_000)} s`
  return ms < 3_600_000 ? `${FIGURES.format(ms / 60_000)} min` : `${FIGURES.format(ms / 3_600_000)} h`
}
