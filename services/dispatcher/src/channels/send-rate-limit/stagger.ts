import { LRUCache } from 'lru-cache'

const MAX_NUMBERS = 100_000

/**
 * Gives those who must ask again for a number their turns, one each `spacing` milliseconds and none before
 * `notBefore`: asked for all at once, ten thousand waiting threads would keep everybody busy with asking.
 */
export function createStagger(spacing: number): (number: string, notBefore: number) => number {
  const last = new LRUCache<string, number>({ max: MAX_NUMBERS })
  return (number, notBefore) => {
    const time = Math.max((last.get(number) ?? 0) + spacing, notBefore)
    last.set(number, time)
    return time
  }
}
