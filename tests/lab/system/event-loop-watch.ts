import { once } from 'node:events'
import { SetupError } from '@parley/local/setup-error'
import { waitUntil } from '@parley/local/wait-until'
import { z } from 'zod'

const INSPECTOR = 'http://127.0.0.1:9229'
const OPEN_MS = 5_000

const targets = z.array(z.looseObject({ webSocketDebuggerUrl: z.url() })).min(1)
const reply = z.looseObject({
  id: z.number().optional(),
  result: z.looseObject({ result: z.looseObject({ value: z.unknown() }) }).optional(),
})

/** Looks at the event loop of another process of this machine, from within it. */
interface EventLoopWatch {
  begin(): Promise<void>
  /** The delays since {@link begin}, in milliseconds; a loop that is never late is at 5. */
  read(): Promise<{ p99: number; max: number }>
  /** Closes the process's inspector again. */
  close(): Promise<void>
}

/** Opens the process's inspector, which is only for this machine, with SIGUSR1. */
export async function watchEventLoop(pid: number): Promise<EventLoopWatch> {
  process.kill(pid, 'SIGUSR1')
  let url = ''
  const find = async () => {
    const [target] = targets.parse(await (await fetch(`${INSPECTOR}/json/list`)).json())
    url = target?.webSocketDebuggerUrl ?? ''
    return url !== ''
  }
  if (!(await waitUntil(find, { timeoutMs: OPEN_MS })))
    throw new SetupError('Identity’s inspector did not open.')
  const socket = new WebSocket(url)
  await once(socket, 'open')
  let last = 0
  const evaluate = async (expression: string) => {
    const id = ++last
    const response = new Promise<unknown>((resolve) => {
      const listen = ({ data }: MessageEvent) => {
        const message = reply.parse(JSON.parse(String(data)))
        if (message.id !== id) return
        socket.removeEventListener('message', listen)
        resolve(message.result?.result.value)
      }
      socket.addEventListener('message', listen)
    })
    socket.send(
      JSON.stringify({ id, method: 'Runtime.evaluate', params: { expression, returnByValue: true } }),
    )
    return response
  }
  const self = await evaluate('process.pid')
  if (self !== pid) throw new SetupError('Another process has its inspector open.')
  return {
    async begin() {
      await evaluate(
        "globalThis.watchedDelay = process.getBuiltinModule('node:perf_hooks').monitorEventLoopDelay({ resolution: 5 }); watchedDelay.enable()",
      )
    },
    async read() {
      const text = await evaluate(
        'watchedDelay.disable(); JSON.stringify({ p99: watchedDelay.percentile(99) / 1e6, max: watchedDelay.max / 1e6 })',
      )
      return z.object({ p99: z.number(), max: z.number() }).parse(JSON.parse(String(text)))
    },
    async close() {
      const closed = once(socket, 'close')
      await evaluate(
        "setTimeout(() => process.getBuiltinModule('node:inspector').close(), 100); delete globalThis.watchedDelay",
      )
      socket.close()
      await closed
    },
  }
}
