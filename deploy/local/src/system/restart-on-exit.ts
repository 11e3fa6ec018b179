import { setTimeout as pause } from 'node:timers/promises'

const FIRST_DELAY_MS = 200
const LAST_DELAY_MS = 10_000
const HEALTHY_MS = 30_000

/** Something that runs, may end by itself, and can be started again. */
export interface Restartable {
  readonly name: string
  readonly exited: Promise<void>
  restart(): Promise<void>
}

/**
 * Starts `subject` again whenever it ends, until `signal` aborts: after 0.2 s, then twice as long each time up
 * to 10 s, and from the start again once it has lived for 30 s.
 */
export async function restartOnExit(
  subject: Restartable,
  options: { say(line: string): void; onRestart(): void; signal: AbortSignal },
): Promise<void> {
  const { say, onRestart, signal } = options
  const stopped = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  )
  let delayMs = FIRST_DELAY_MS
  while (!signal.aborted) {
    const since = performance.now()
    await Promise.race([subject.exited, stopped])
    if (signal.aborted) return
    if (performance.now() - since > HEALTHY_MS) delayMs = FIRST_DELAY_MS
    say(`${subject.name} ended; starting it again in ${delayMs / 1_000} s.`)
    await Promise.race([pause(delayMs), stopped])
    delayMs = Math.min(delayMs * 2, LAST_DELAY_MS)
    if (signal.aborted) return
    await Promise.race([restart(subject, say), stopped])
    if (!signal.aborted) onRestart()
  }
}

/** When it fails, the subject counts as ended still, so the next attempt follows. */
async function restart(subject: Restartable, say: (line: string) => void): Promise<void> {
  try {
    await subject.restart()
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
  }
}
