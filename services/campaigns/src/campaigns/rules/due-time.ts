/** Hours of the day in which nobody is written to, as `HH:MM`; they may pass midnight. */
interface QuietHours {
  from: string
  to: string
}

/** When a campaign is sent. */
export interface SendTime {
  /** An instant, or a time of the wall clock without an offset; undefined for at once. */
  at?: string | undefined
  /** The zone of that wall clock, and of a person whose zone is not known. */
  timeZone: string
  /** The wall clock is each person's own. */
  inEachTimeZone: boolean
  quietHours?: QuietHours | undefined
}

const OFFSET = /(?:Z|[+-]\d{2}:?\d{2})$/i

/** True if a time names its instant, independent of the reader's place. */
export const isInstant = (at: string): boolean => OFFSET.test(at)

/** True if such a time zone exists: a name of the IANA database. */
export function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    // Offsets have no summer time, so they are not where anybody lives.
    return !/^[+-]/.test(name)
  } catch {
    return false
  }
}

/**
 * When a person in `zone` is written to, in milliseconds since the epoch: at the campaign's time, not before `notBefore`, and
 * outside its quiet hours. A time that summer time skips is the one as long after its beginning; of one that comes twice
 * it is the first.
 */
export function dueTime(time: SendTime, zone: string | undefined, notBefore: number): number {
  const own = zone !== undefined && isTimeZone(zone) ? zone : time.timeZone
  const at = time.at === undefined ? notBefore : instantOf(time.at, time.inEachTimeZone ? own : time.timeZone)
  return afterQuietHours(Math.max(at, notBefore), own, time.quietHours)
}

/** The first time from `at` on that is in no quiet hours of the zone. */
export function afterQuietHours(at: number, zone: string, quiet: QuietHours | undefined): number {
  if (quiet === undefined || quiet.from === quiet.to) return at
  const local = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone)
  const [clock, from, to] = [
    local.toPlainTime(),
    Temporal.PlainTime.from(quiet.from),
    Temporal.PlainTime.from(quiet.to),
  ]
  const isAfterFrom = Temporal.PlainTime.compare(clock, from) >= 0
  const isBeforeTo = Temporal.PlainTime.compare(clock, to) < 0
  const passesMidnight = Temporal.PlainTime.compare(from, to) > 0
  const isQuiet = passesMidnight ? isAfterFrom || isBeforeTo : isAfterFrom && isBeforeTo
  if (!isQuiet) return at
  const day = local.toPlainDate().add({ days: passesMidnight && isAfterFrom ? 1 : 0 })
  const end = day.toZonedDateTime({ timeZone: zone, plainTime: to }).epochMilliseconds
  // Where the clock is set back, the end has been there already: the second one counts.
  return end > at ? end : latestOf(day, to, zone, at)
}

function instantOf(at: string, zone: string): number {
  if (isInstant(at)) return Date.parse(at)
  return Temporal.PlainDateTime.from(at).toZonedDateTime(zone).epochMilliseconds
}

function latestOf(day: Temporal.PlainDate, time: Temporal.PlainTime, zone: string, at: number): number {
  const second = day.toPlainDateTime(time).toZonedDateTime(zone, { disambiguation: 'later' })
  return Math.max(second.epochMilliseconds, at)
}
