import { execFileSync, spawnSync } from 'node:child_process'
import { availableParallelism } from 'node:os'

const LAST = availableParallelism() - 1
const canPin = LAST > 0 && spawnSync('taskset', ['--version']).status === 0

/** Keeps this process and what it starts from now on off the last core. Does nothing where there is one core. */
export function leaveLastCore(): void {
  if (canPin) execFileSync('taskset', ['-acp', `0-${LAST - 1}`, String(process.pid)])
}

/** The command, with its arguments, that runs Node (or another program) with `args` on the last core alone. */
export function onLastCore(args: string[], program = process.execPath): [command: string, args: string[]] {
  return canPin ? ['taskset', ['-c', String(LAST), program, ...args]] : [program, args]
}
