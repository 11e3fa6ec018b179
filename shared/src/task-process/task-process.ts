import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { defined } from '../defined.ts'
import type { Begin, Outcome } from './run-tasks.ts'

const MB = 1024 * 1024
const HEAP_MB = 96
/** Memory that it may take beyond what it has before the first task. */
const MAX_BYTES = 128 * MB
/** One that has so much more after a task is replaced, so that the next one is not ended for what others have left. */
const WORN_BYTES = 96 * MB
const START_MS = 30_000
const IDLE_MS = 600_000
/** A machine that is full gives a task so little of its processors at worst, as a part of one. */
const LEAST_SHARE = 0.1

/** How a task ended: `killed` beyond its time or memory, `not_started` when no process could be had. */
export type TaskEnd<Result> =
  | { kind: 'done'; result: Result; ms: number }
  | { kind: 'killed'; ms: number }
  | { kind: 'not_started' }

/** A child process that works with what is somebody else's, one task at a time. */
export interface TaskProcess<Task, Result> {
  /**
   * Starts the process with the first task, and anew after 10 minutes without one. Never rejects. The process is ended
   * by SIGKILL when a task takes more than `taskMs` of a processor, or ten times that by the clock, and when it has
   * 128 MB more than it started with.
   */
  run(task: Task, options: { taskMs: number }): Promise<TaskEnd<Result>>
  close(): Promise<void>
}

/**
 * `module` exports by default a function from a task to its result, both of what `structuredClone` takes. The process
 * has nothing of this one's environment, ends with it however that ends, and does not delay its end.
 */
export function createTaskProcess<Task, Result>(module: URL): TaskProcess<Task, Result> {
  let child: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let closed = false
  const started = async (): Promise<ChildProcess | undefined> => {
    if (child?.connected) return child
    const starting = start(module)
    child = starting
    const isReady = await isStarted(starting)
    if (!isReady || closed) starting.kill('SIGKILL')
    return isReady && !closed ? starting : undefined
  }
  const end = async (): Promise<void> => {
    const ending = child
    child = undefined
    if (ending === undefined || hasExited(ending)) return
    const exit = once(ending, 'exit')
    setReferenced(ending, true)
    ending.kill('SIGKILL')
    await exit
  }
  return {
    async run(task, { taskMs }) {
      clearTimeout(idle)
      const running = await started()
      if (running === undefined) return { kind: 'not_started' }
      const outcome = await outcomeOf<Result>(running, { task, taskMs })
      if (outcome === undefined || outcome.bytes > WORN_BYTES) await end()
      else idle = setTimeout(() => void end(), IDLE_MS).unref()
      if (outcome === undefined) return { kind: 'killed', ms: taskMs }
      return { kind: 'done', result: outcome.result, ms: outcome.ms }
    },
    close() {
      closed = true
      clearTimeout(idle)
      return end()
    },
  }
}

const hasExited = ({ exitCode, signalCode }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null

function start(module: URL): ChildProcess {
  const { NODE_COMPILE_CACHE } = process.env
  const child = fork(
    fileURLToPath(new URL('./run-tasks.ts', import.meta.url)),
    [module.href, String(MAX_BYTES)],
    {
      execArgv: [`--max-old-space-size=${HEAP_MB}`, '--max-semi-space-size=8'],
      env: defined({ NODE_COMPILE_CACHE }),
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    },
  )
  // An error of a process shows in its task.
  child.on('error', () => {})
  return child
}

/** True when it says so in time. */
async function isStarted(child: ChildProcess): Promise<boolean> {
  const signal = AbortSignal.timeout(START_MS)
  const first = await Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then(() => undefined),
  ]).catch(() => undefined)
  return first !== undefined
}

/** Undefined when the process has ended before the task. */
function outcomeOf<Result>(child: ChildProcess, begin: Begin): Promise<Outcome<Result> | undefined> {
  const kill = () => void child.kill('SIGKILL')
  const deadline = setTimeout(kill, begin.taskMs / LEAST_SHARE)
  setReferenced(child, true)
  return new Promise<Outcome<Result> | undefined>((resolve) => {
    const onMessage = (outcome: unknown) => settle(outcome as Outcome<Result>)
    const onExit = () => settle(undefined)
    const settle = (outcome: Outcome<Result> | undefined) => {
      clearTimeout(deadline)
      child.off('message', onMessage)
      child.off('exit', onExit)
      setReferenced(child, false)
      resolve(outcome)
    }
    if (hasExited(child)) return settle(undefined)
    child.on('message', onMessage)
    child.on('exit', onExit)
    child.send(begin, (error) => error && kill())
  })
}

/** Sets that the process, while it waits, keeps this one from ending, or does not. */
function setReferenced(child: ChildProcess, isReferenced: boolean): void {
  for (const one of [child, child.channel]) {
    if (isReferenced) one?.ref()
    else one?.unref()
  }
}
