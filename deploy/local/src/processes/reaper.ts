// Outlives the process that started it, by as long as it takes to stop what that one left behind.
//   node reaper.ts <directory> [remove]
import { rmSync } from 'node:fs'
import { stopOwned } from './owned.ts'

const GRACE_MS = 5_000
const [directory, remove] = process.argv.slice(2)

async function reap(): Promise<void> {
  if (directory === undefined) return
  await stopOwned(directory, { graceMs: GRACE_MS })
  if (remove === 'remove') rmSync(directory, { recursive: true, force: true })
}

// Standard input closes when the process at its other end ends, in whatever manner.
process.stdin.once('close', () => void reap())
process.stdin.resume()
