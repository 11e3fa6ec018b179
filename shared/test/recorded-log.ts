import type { Log } from '../src/log.ts'

/** A log that remembers the warnings. */
export function recordedLog() {
  const warnings: { reason: string }[] = []
  const log = { info: () => undefined, warn: (fields: { reason: string }) => void warnings.push(fields) }
  return { log: log as unknown as Log, warnings }
}
