import { setTimeout as pause } from 'node:timers/promises'
import type { DispatchWorkspace } from '../dispatch/workspace.ts'

/** What became of a read: its status; `broken` where the connection ended, `hung` where nothing came for 15 s. */
export interface Read {
  path: string
  outcome: number | 'broken' | 'hung'
  /** Whether an answer that is not 200 says when to come again. */
  saysWhen: boolean
  /** By `performance.now()`. */
  at: number
}

/** Reads the paths in turn, `rate` a second, each at its time whether or not the last one was answered. */
export function startReads(options: { workspace: DispatchWorkspace; paths: string[]; rate: number }): {
  stop(): Promise<Read[]>
} {
  const { workspace, paths, rate } = options
  const reads: Promise<Read>[] = []
  let running = true
  const started = performance.now()
  const loop = async () => {
    for (let count = 0; running; count++) {
      await pause(Math.max(0, started + (count * 1_000) / rate - performance.now()))
      reads.push(read(workspace, paths[count % paths.length] ?? ''))
    }
  }
  const looping = loop()
  return {
    async stop() {
      running = false
      await looping
      return Promise.all(reads)
    },
  }
}

async function read(workspace: DispatchWorkspace, path: string): Promise<Read> {
  const at = performance.now()
  try {
    const answer = await workspace.request('GET', path)
    await answer.arrayBuffer()
    return { path, outcome: answer.status, saysWhen: answer.headers.has('retry-after'), at }
  } catch (error) {
    const hung = error instanceof Error && error.name === 'TimeoutError'
    return { path, outcome: hung ? 'hung' : 'broken', saysWhen: false, at }
  }
}
