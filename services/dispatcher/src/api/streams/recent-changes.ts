import type { Change } from './change.ts'

/** The changes that were read last, in order, for readers who come back after a moment. */
export interface RecentChanges {
  /** It has all changes after this place. */
  since(): string
  /** The place of the last change that it has, or where it began. */
  until(): string
  add(change: Change): void
  /** All up to this place was read. */
  moveOn(key: string): void
  /** The one at a place, and those after it. */
  from(key: string): Iterable<Change>
}

const MAX_CHANGES = 20_000
const MAX_CHARACTERS = 16 * 1024 * 1024
const MAX_AGE_MS = 60_000
/** The characters that a change takes beside the texts of its events. */
const CHANGE_CHARACTERS = 300

interface Entry {
  change: Change
  characters: number
  addedAt: number
}

/** At most 20,000 changes of the last minute, 16 Mi characters together. */
export function createRecentChanges(from: string): RecentChanges {
  let entries: Entry[] = []
  let first = 0
  let since = from
  let until = from
  let characters = 0
  const trim = (now: number) => {
    for (let entry = entries[first]; entry !== undefined && isTooMuch(entry, now); entry = entries[first]) {
      first++
      characters -= entry.characters
      since = entry.change.key
    }
    if (first > MAX_CHANGES) {
      entries = entries.slice(first)
      first = 0
    }
  }
  const isTooMuch = ({ addedAt }: Entry, now: number) =>
    entries.length - first > MAX_CHANGES || characters > MAX_CHARACTERS || now - addedAt > MAX_AGE_MS
  return {
    since: () => since,
    until: () => until,
    add(change) {
      const size = change.events.reduce((sum, { data }) => sum + data.length, CHANGE_CHARACTERS)
      const now = performance.now()
      entries.push({ change, characters: size, addedAt: now })
      characters += size
      until = change.key
      trim(now)
    },
    moveOn(key) {
      if (key > until) until = key
      trim(performance.now())
    },
    *from(key) {
      for (let at = firstFrom(entries, first, key); at < entries.length; at++) {
        const entry = entries[at]
        if (entry !== undefined) yield entry.change
      }
    },
  }
}

/** By halves: there are many, and readers come back all at once. */
function firstFrom(entries: readonly Entry[], first: number, key: string): number {
  let [low, high] = [first, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((entries[middle]?.change.key ?? '') >= key) high = middle
    else low = middle + 1
  }
  return low
}
