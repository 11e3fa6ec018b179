import { t } from './language.ts'
import { InputError } from './problems.ts'

/**
 * Runs once no other tab of the browser runs anything of that name; at once where it has no locks, which it lacks over
 * plain HTTP. The signal ends the wait only.
 */
export function oneAtATime<T>(name: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  return navigator.locks === undefined ? run() : navigator.locks.request(`parley.${name}`, { signal }, run)
}

/** Runs with a signal that ends it with the page, which the back/forward cache would keep together with its connection. */
export async function untilLeft<T>(run: (left: AbortSignal) => Promise<T>): Promise<T> {
  const left = new AbortController()
  const leave = () =>
    left.abort(new InputError(t('You left the page before it was done. Send it again.'), []))
  addEventListener('pagehide', leave)
  try {
    return await run(left.signal)
  } finally {
    removeEventListener('pagehide', leave)
  }
}
