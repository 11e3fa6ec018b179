import { randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'

/** Writes a file that only this user may read, under its final name only when it is whole. */
export function writeAtomically(file: string, text: string): void {
  const whole = `${file}.${randomUUID()}`
  writeFileSync(whole, text, { mode: 0o600 })
  renameSync(whole, file)
}
