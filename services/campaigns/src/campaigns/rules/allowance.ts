/** A campaign's own rate: it fills by the monotonic clock, so that a clock that is set changes nothing. */
export interface RateBucket {
  /** How many may be sent now. */
  available(now: number): number
  take(count: number): void
}

/** Nothing is made up for: what was not sent in this time is not sent faster later. */
const BURST_MS = 250

export function createRateBucket(perSecond: number, now: number): RateBucket {
  const most = Math.max(1, (perSecond * BURST_MS) / 1_000)
  let tokens = 0
  let at = now
  return {
    available(time) {
      tokens = Math.min(most, tokens + (Math.max(0, time - at) * perSecond) / 1_000)
      at = time
      return Math.floor(tokens)
    },
    take(count) {
      tokens -= count
    },
  }
}

const MIN_IN_FLIGHT = 20
const IN_FLIGHT_SECONDS = 2

/** How many messages of a campaign may be under way: few, so that a pause stops at once and conversations are not behind them. */
export function inFlightLimit(perSecond: number): number {
  return Math.max(MIN_IN_FLIGHT, Math.ceil(perSecond * IN_FLIGHT_SECONDS))
}

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
const WEEK_HOURS = 7 * DAY_HOURS

/** How many people were written to in each hour (since the epoch). */
type PeopleByHour = Readonly<Record<string, number>>

/** How many more people a portfolio may write to now: its limit counts over the last 24 hours. */
export function peopleLeft(hours: PeopleByHour, limit: number, now: number): number {
  return Math.max(0, limit - sumOf(recent(hours, now)))
}

/** The counts after `count` more. Hours are there for a week, so that a clock which is set forth and back forgets none. */
export function withPeople(hours: PeopleByHour, count: number, now: number): Record<string, number> {
  const hour = String(Math.floor(now / HOUR_MS))
  const stored = recent(hours, now, WEEK_HOURS)
  return { ...stored, [hour]: (stored[hour] ?? 0) + count }
}

/** When the oldest of the hours that count is over, in milliseconds since the epoch. */
export function peopleFreeAt(hours: PeopleByHour, now: number): number {
  const oldest = Math.min(...Object.keys(recent(hours, now)).map(Number), Math.floor(now / HOUR_MS))
  return (oldest + DAY_HOURS + 1) * HOUR_MS
}

/** A whole hour counts until its last minute is a day old. */
function recent(hours: PeopleByHour, now: number, span = DAY_HOURS): Record<string, number> {
  const first = Math.floor(now / HOUR_MS) - span
  return Object.fromEntries(Object.entries(hours).filter(([hour]) => Number(hour) >= first))
}

const sumOf = (counts: PeopleByHour): number => Object.values(counts).reduce((sum, one) => sum + one, 0)
