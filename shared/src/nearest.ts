import { distance } from './distance.ts'

const MAX_CHARACTERS = 64
/** A name is taken for another one where at most so many letters differ, a third of them. */
const MAX_DISTANCE = 2
const LETTERS_FOR_EACH = 3

/** The known name that is most like this one; undefined where it is known itself, or like none. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.includes(name) || name.length > MAX_CHARACTERS) return undefined
  const own = plainOf(name)
  const distances = known.map((one) => ({ one, letters: lettersBetween(own, plainOf(one)) }))
  const near = distances.reduce((best, next) => (next.letters < best.letters ? next : best))
  const most = Math.min(MAX_DISTANCE, Math.floor(Math.min(own.length, near.one.length) / LETTERS_FOR_EACH))
  return near.letters <= most ? near.one : undefined
}

/** Letters that have changed places count once. */
const lettersBetween = (one: string, other: string): number =>
  one !== other && sorted(one) === sorted(other) ? 1 : distance(one, other)

const sorted = (text: string): string => [...text].sort().join('')

/** A name without what people write differently. */
export const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[-_ ]/g, '')
