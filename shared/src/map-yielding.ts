import { setImmediate } from 'node:timers/promises'

const SLICE_MS = 20

/** Maps one after another, and yields to the event loop every 20 ms: what each takes may be long for many. */
export async function mapYielding<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const mapped: R[] = []
  let since = performance.now()
  for (const item of items) {
    mapped.push(map(item))
    if (performance.now() - since < SLICE_MS) continue
    await setImmediate()
    since = performance.now()
  }
  return mapped
}
