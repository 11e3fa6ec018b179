import { mongo } from 'mongoose'

/**
 * A place among the changes of the database, as the id of an event has it. `key` orders places: it begins with the
 * time of a change in hexadecimal (16 digits), and is followed by the token of that change where it is one.
 */
export interface Position {
  key: string
  /** How many events of the change at `key` were seen; all of them when left out. */
  seen?: number
}

const ID = /^(?<key>[0-9a-f]{16}(?:~|\.[0-9A-F]{2,2048}))(?:!(?<seen>\d{1,3}))?$/
const DIGITS = 8

/** The place that an id names; undefined for what is no id of ours. */
export function positionIn(id: string): Position | undefined {
  const { key, seen } = ID.exec(id)?.groups ?? {}
  if (key === undefined) return undefined
  return seen === undefined ? { key } : { key, seen: Number(seen) }
}

export function idOf({ key, seen }: Position): string {
  return seen === undefined ? key : `${key}!${seen}`
}

/** The place of a change: changes of one time are ordered by their tokens. */
export function keyOfChange(time: mongo.Timestamp, token: string): string {
  return `${digitsOf(time)}.${token}`
}

/** The place after all changes of a time: `~` comes after `.`. */
export function keyAfter(time: mongo.Timestamp): string {
  return `${digitsOf(time)}~`
}

/** A place that names no change, and lies as little as possible before `key`. */
export function markOf(key: string): string {
  if (key.endsWith('~')) return key
  return keyAfter(new mongo.Timestamp(timeOf(key).toBigInt() - 1n))
}

export function timeOf(key: string): mongo.Timestamp {
  const [t, i] = [key.slice(0, DIGITS), key.slice(DIGITS, 2 * DIGITS)].map((digits) =>
    Number.parseInt(digits, 16),
  )
  return new mongo.Timestamp({ t: t ?? 0, i: i ?? 0 })
}

/** How many events of the change at `key` lie before the position. */
export function seenOf({ key, seen }: Position, ofChange: string): number {
  if (ofChange > key) return 0
  return ofChange === key ? (seen ?? Number.POSITIVE_INFINITY) : Number.POSITIVE_INFINITY
}

function digitsOf(time: mongo.Timestamp): string {
  return [time.getHighBitsUnsigned(), time.getLowBitsUnsigned()]
    .map((number) => number.toString(16).padStart(DIGITS, '0'))
    .join('')
}
