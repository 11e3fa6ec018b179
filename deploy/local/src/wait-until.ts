import { setTimeout as pause } from 'node:timers/promises'

/**
 * Checks every `intervalMs` (100) until the result is true, at most `timeoutMs`; returns whether it was. A
 * check that throws counts as false. Rejects when `signal` aborts.
 */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  options: { timeoutMs: number; intervalMs?: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    options.signal?.throwIfAborted()
    if (await isTrue(check)) return true
    if (performance.now() >= deadline) return false
    await pause(options.intervalMs ?? 100, undefined, { signal: options.signal })
  }
}

async function isTrue(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check()
  } catch {
    return false
  }
}
