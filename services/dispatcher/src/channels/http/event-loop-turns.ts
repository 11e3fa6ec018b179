/** So long, in milliseconds, may what foreign answers cause run before everything else of the process has its turn. */
const TURN_MS = 4

let endsAt = 0
const waiting: (() => void)[] = []

/**
 * Resolves when whoever works on a foreign answer may go on. All of them together have 4 ms of each turn of the event
 * loop, one after the other, whatever they do with what they were given: libraries that parse it can't be interrupted.
 */
export function turn(): Promise<void> | undefined {
  if (performance.now() < endsAt && waiting.length === 0) return undefined
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}

/** One of them in each turn: what it causes runs before the next `setImmediate`. */
function next(): void {
  endsAt = performance.now() + TURN_MS
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}
