import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks every `intervalMs` (100) until the answer is yes, at most `timeoutMs`; returns whether it was. An
 * answer that throws counts as no. Rejects when `signal` aborts.
 */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  options: { timeoutMs: number; intervalMs?: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const deadline = performance.now() + options.timeoutMs
  for (;;) {
    options.signal?.throwIfAborted()
    if (await answer(check)) return true
    if (performance.now() >= deadline) return false
    await pause(options.intervalMs ?? 100, undefined, { signal: options.signal })
  }
}

async function answer(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check()
  } catch {
    return false
  }
}
