import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const SCRIPT = fileURLToPath(new URL('reaper.ts', import.meta.url))

interface Reaper {
  /** Lets it stop what is still there, and end. */
  close(): Promise<void>
}

/**
 * Starts a small process that waits for this one to end, and then stops all that was started for
 * `directory`: so nothing stays behind when this process is killed outright. With `remove` it deletes the
 * folder too.
 */
export function startReaper(options: { directory: string; remove: boolean }): Reaper {
  const args = [SCRIPT, options.directory, ...(options.remove ? ['remove'] : [])]
  const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const exited = once(child, 'exit')
  child.unref()
  if ('unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref()
  return {
    close: async () => {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}
