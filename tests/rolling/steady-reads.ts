import { setTimeout as pause } from 'node:timers/promises'
import type { DispatchWorkspace } from '../dispatch/workspace.ts'

const PATHS = ['/rest/channels/1', '/rest/users', '/rest/hooks', '/rest/messages?limit=1']

/** One answer to a read; status 0 when none came. */
interface SteadyRead {
  path: string
  status: number
  ms: number
}

/** Reads from every service in turn, `rate` a second, each at its time whether or not the last one was answered. */
export function startReads(options: { workspace: DispatchWorkspace; rate: number }): {
  stop(): Promise<SteadyRead[]>
} {
  const { workspace, rate } = options
  const reads: Promise<SteadyRead>[] = []
  let stopped = false
  const started = performance.now()
  const loop = async () => {
    for (let count = 0; !stopped; count++) {
      await pause(Math.max(0, started + (count * 1_000) / rate - performance.now()))
      reads.push(read(workspace, PATHS[count % PATHS.length] ?? ''))
    }
  }
  const running = loop()
  return {
    async stop() {
      stopped = true
      await running
      return Promise.all(reads)
    },
  }
}

async function read(workspace: DispatchWorkspace, path: string): Promise<SteadyRead> {
  const started = performance.now()
  const status = await workspace.request('GET', path).then(
    async (answer) => {
      await answer.arrayBuffer()
      return answer.status
    },
    () => 0,
  )
  return { path, status, ms: performance.now() - started }
}
