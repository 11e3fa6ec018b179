import { isReady, readRunFile } from '@parley/local/demo/running-system'
import { waitUntil } from '@parley/local/wait-until'

const GONE_MS = 30_000
const BACK_MS = 60_000
const CHECK_MS = 50

/** How one instance was replaced; milliseconds from SIGTERM. */
interface Restart {
  instance: string
  goneAfterMs: number
  readyAfterMs: number
}

/** The order in which an upgrade goes: who understands first, who asks last. */
const SEQUENCE = ['configuration', 'identity', 'dispatcher', 'webhook', 'campaigns']

/** Restarts every instance of every service behind the gateway by SIGTERM, one at a time, each ready before the next. */
export async function restartEach(options: { runFile: string; say(line: string): void }): Promise<Restart[]> {
  const { runFile, say } = options
  const restarts: Restart[] = []
  for (const service of SEQUENCE) {
    const instances = Object.keys(readRunFile(runFile)?.processes ?? {}).filter(
      (name) => name.replace(/-\d+$/, '') === service,
    )
    for (const instance of instances) {
      restarts.push(await restart(instance, runFile))
      say(`${instance} was restarted`)
    }
  }
  return restarts
}

async function restart(instance: string, runFile: string): Promise<Restart> {
  const before = readRunFile(runFile)?.processes[instance]
  if (before?.pid === undefined) throw new Error(`${instance} does not run`)
  const { pid, url } = before
  const started = performance.now()
  process.kill(pid, 'SIGTERM')
  const isReplaced = () => readRunFile(runFile)?.processes[instance]?.pid !== pid
  if (!(await waitUntil(isReplaced, { timeoutMs: GONE_MS, intervalMs: CHECK_MS })))
    throw new Error(`${instance} did not end`)
  const goneAfterMs = performance.now() - started
  if (!(await waitUntil(() => isReady(url), { timeoutMs: BACK_MS, intervalMs: CHECK_MS })))
    throw new Error(`${instance} was not ready again`)
  return { instance, goneAfterMs, readyAfterMs: performance.now() - started }
}
