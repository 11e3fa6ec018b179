// Everything on this machine while its code is being changed: npm run dev [-- --without NAME]
import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildConsole } from '@parley/console/build'
import { CHECKOUT, STATE_DIRECTORY } from './checkout.ts'
import { readRunFile } from './demo/running-system.ts'
import { runInForeground } from './foreground.ts'

const SETTLE_MS = 100

const { without } = parseArgs({ options: { without: { type: 'string' } } }).values
await runInForeground({ watch: true, without, whenReady: async () => void rebuildConsole() })

/** Makes the console's bundle anew after each change of its sources; the gateway reads it when it starts. */
function rebuildConsole(): FSWatcher {
  let timer: NodeJS.Timeout | undefined
  const rebuild = async () => {
    await buildConsole()
    const pid = readRunFile(join(STATE_DIRECTORY, 'run.json'))?.processes.gateway?.pid
    if (pid !== undefined) process.kill(pid, 'SIGTERM')
  }
  return watch(join(CHECKOUT, 'gateway/console/src'), { recursive: true }, () => {
    clearTimeout(timer)
    timer = setTimeout(() => rebuild().catch((error: Error) => console.error(error.message)), SETTLE_MS)
  })
}
