import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, test } from '@jest/globals'
import { createTaskProcess } from '@parley/shared/task-process/task-process'
import type { ForeignTask } from './foreign-task.ts'

const module = new URL('./foreign-task.ts', import.meta.url)
/** One whose tasks all have the same time. */
function started(taskMs: number) {
  const { run, close } = createTaskProcess<ForeignTask, unknown>(module)
  return { run: (task: ForeignTask) => run(task, { taskMs }), close }
}

const TASK_MS = 1_000
const tasks = started(TASK_MS)
afterAll(() => tasks.close())

const resultOf = async (task: ForeignTask) => {
  const end = await tasks.run(task)
  return end.kind === 'done' ? end.result : end
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function ended(pid: number): Promise<void> {
  while (isAlive(pid)) await pause(10)
}

describe('tasks are run in a process of their own', () => {
  test('which is used again, and has nothing of the environment', async () => {
    const pid = await resultOf('pid')
    expect(pid).not.toBe(process.pid)
    const echo = { a: [1, null, 'é'], b: { c: -0 } }
    expect(await resultOf({ echo })).toEqual(echo)
    expect(await resultOf('pid')).toBe(pid)
    const names = (await resultOf('environment')) as string[]
    expect(
      names.filter(
        (name) =>
          !['NODE_COMPILE_CACHE', 'NODE_CHANNEL_FD'].includes(name) && !name.startsWith('NODE_CHANNEL'),
      ),
    ).toEqual([])
  })

  test.each(['spin', 'serialise', 'allocate', 'match'] as const)(
    'one that would %s for ever is killed, and the next task gets another process',
    async (task) => {
      const pid = Number(await resultOf('pid'))
      expect(await tasks.run(task)).toEqual({ kind: 'killed', ms: TASK_MS })
      expect(isAlive(pid)).toBe(false)
      const next = await resultOf('pid')
      expect(next).not.toBe(pid)
    },
  )

  test('this process takes no memory for what is serialised there', async () => {
    await resultOf('pid')
    const before = process.memoryUsage.rss()
    await tasks.run('serialise')
    expect(process.memoryUsage.rss() - before).toBeLessThan(64 * 1024 * 1024)
  })

  test('what a service is told to end by does not end a task', async () => {
    const pid = Number(await resultOf('pid'))
    const working = resultOf('work')
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal)
    expect(await working).toBe('done')
    expect(await resultOf('pid')).toBe(pid)
  })

  test('one that was killed from outside while it was idle is replaced', async () => {
    const pid = Number(await resultOf('pid'))
    process.kill(pid, 'SIGKILL')
    await ended(pid)
    let end = await tasks.run('pid')
    while (end.kind !== 'done') end = await tasks.run('pid')
    expect(end.result).not.toBe(pid)
  })

  test('a machine that is full makes no task too slow', async () => {
    const own = started(1_500)
    await own.run('pid')
    const busy = Array.from(
      { length: 4 * availableParallelism() },
      () => new Worker('for (;;);', { eval: true }),
    )
    await Promise.all(busy.map((worker) => once(worker, 'online')))
    const end = await own.run('work')
    await Promise.all([own.close(), ...busy.map((worker) => worker.terminate())])
    expect(end).toMatchObject({ kind: 'done', result: 'done' })
  })

  test('closing ends what runs, at once', async () => {
    const own = started(600_000)
    const pid = await own.run('pid')
    const running = own.run('match')
    await own.close()
    expect(await running).toEqual({ kind: 'killed', ms: 600_000 })
    expect(await own.run('pid')).toEqual({ kind: 'not_started' })
    expect(isAlive(Number((pid as { result: unknown }).result))).toBe(false)
  })
})

describe('the process ends with its parent', () => {
  const parent = (mode: string) =>
    spawn(process.execPath, [fileURLToPath(new URL('./task-parent.ts', import.meta.url)), mode], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const childOf = async (process: ChildProcess): Promise<number> => {
    const [line] = await once(process.stdout!, 'data')
    return JSON.parse(String(line)).result
  }

  test('and does not delay its end', async () => {
    const process = parent('end')
    const pid = await childOf(process)
    expect(await once(process, 'exit')).toEqual([0, null])
    await ended(pid)
  })

  test.each(['idle', 'busy'])('also when that is killed while the process is %s', async (mode) => {
    const process = parent(mode)
    const pid = await childOf(process)
    process.kill('SIGKILL')
    await once(process, 'exit')
    await ended(pid)
  })
})
