import { setImmediate } from 'node:timers/promises'

const SLICE_MS = 20

/** Presents one after another, and yields to the event loop every 20 ms: opening many secrets takes long. */
export async function presentAll<T, R>(items: readonly T[], present: (item: T) => R): Promise<R[]> {
  const shown: R[] = []
  let since = performance.now()
  for (const item of items) {
    shown.push(present(item))
    if (performance.now() - since < SLICE_MS) continue
    await setImmediate()
    since = performance.now()
  }
  return shown
}
