import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SetupError } from './setup-error.ts'

const lockSchema = z.object({ pid: z.number().int().positive(), started: z.string() })

/**
 * Makes this process the only user of `directory` until the returned function is called. Throws
 * {@link SetupError} while another one is; a lock whose process is gone is taken over.
 */
export function lockDirectory(directory: string): () => void {
  const file = join(directory, 'lock.json')
  const owner = readOwner(file)
  if (owner) {
    throw new SetupError(
      `Parley already runs in this checkout (process ${owner}). Use it, or stop it first (Ctrl-C there, or ` +
        `kill ${owner}).`,
    )
  }
  rmSync(file, { force: true })
  const lock = { pid: process.pid, started: startTime(process.pid) }
  writeFileSync(file, JSON.stringify(lock), { flag: 'wx' })
  return () => rmSync(file, { force: true })
}

/** The process id of the live process that owns the lock. */
function readOwner(file: string): number | undefined {
  try {
    const { pid, started } = lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
    return startTime(pid) === started ? pid : undefined
  } catch {
    return undefined
  }
}

/** Distinguishes a process from a later one with the same id. Throws when there is no such process. */
function startTime(pid: number): string {
  if (process.platform !== 'linux')
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)])
      .toString()
      .trim()
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
  return fields?.[19] ?? ''
}
