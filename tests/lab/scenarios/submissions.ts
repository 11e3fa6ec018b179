// Submits to tasks while the configuration service, RabbitMQ and MongoDB are killed, and counts what the tasks hold.
//   node tests/lab/scenarios/submissions.ts
import { waitUntil } from '@parley/local/wait-until'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { publishAll, submissionsOf } from '../load/submissions.ts'
import { seconds } from '../report/table.ts'
import { ALL_PERMISSIONS, callerIn, startServiceProcesses } from '../system/service-processes.ts'

const size = z.object({
  THREADS: integer({ min: 10, max: 1_000 }).default(100).describe('Threads in each part'),
  STEPS: integer({ min: 4, max: 100 }).default(10).describe('Submissions of each thread'),
})
const WAIT_MS = 120_000
const LOOK_MS = 200
const KILLS = 3

const { THREADS, STEPS } = parseConfig(size, process.env)
const system = await startServiceProcesses({ name: 'submissions', inner: () => ALL_PERMISSIONS })
const start = () => system.startService('configuration', { LOG_LEVEL: 'fatal' })
let service = await start()
try {
  const { mongo, rabbitmq } = system.servers
  const rows = {
    'nothing killed': await part(1, async () => {}),
    'service killed': await part(2, async () => {
      await service.stop('SIGKILL')
      service = await start()
    }),
    'RabbitMQ killed': await part(3, () => kill(rabbitmq)),
    'MongoDB killed': await part(4, () => kill(mongo)),
  }
  console.table(rows)
  for (const { missing, wrong, tasks } of Object.values(rows)) {
    if (missing + wrong > 0 || tasks !== THREADS) process.exitCode = 1
  }
} finally {
  await system.stop()
}

interface Killable {
  pid: number | undefined
  exited: Promise<unknown>
  restart(): Promise<unknown>
}

async function kill(server: Killable): Promise<void> {
  if (server.pid === undefined) throw new Error('the server is not ours to kill')
  process.kill(server.pid, 'SIGKILL')
  await server.exited
  await server.restart()
}

/** Submits to a workspace of its own, with `interrupt` three times in between, and counts what the tasks hold. */
async function part(workspace: number, interrupt: () => Promise<void>) {
  await configure(workspace)
  const submissions = submissionsOf({ workspace, threads: THREADS, steps: STEPS })
  const { url } = system.servers.rabbitmq
  const began = performance.now()
  let kills = 0
  const published = async (count: number) => {
    if (kills === KILLS || count < ((kills + 1) * submissions.length) / (KILLS + 1)) return
    kills++
    await interrupt()
  }
  await publishAll({ url, submissions, published })
  const found = await settled(workspace)
  const tookMs = performance.now() - began
  return {
    submissions: THREADS * STEPS,
    'sent twice': submissions.length - THREADS * STEPS,
    ...found,
    seconds: seconds(tookMs),
  }
}

/** An assistant whose job has a workflow of as many steps as are submitted to. */
async function configure(workspace: number): Promise<void> {
  const put = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}/rest/${path}`, {
      method: 'PUT',
      headers: {
        authorization: `Bearer ${system.token('configuration', callerIn(workspace))}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}`)
  }
  await put('assistant/1', { name: '', description: '', backstory: '', job: 1 })
  await put('jobs/1', { role: '', goal: '', description: '', defaultWorkflow: 1 })
  await put('workflows/1', { name: 'Many steps', description: '', firstStep: 1 })
  const step = { name: '', description: '', instructions: '', submitWhen: '' }
  for (let id = 1; id <= STEPS; id++)
    await put(`steps/${id}`, { ...step, next: id === STEPS ? null : id + 1 })
}

interface Task {
  version: number
  doc: { status: string; context: { steps: Record<string, { n: number }> } }
}

/** Waits until every thread has a completed task, and counts what is not as it was submitted. */
async function settled(workspace: number) {
  let tasks: Task[] = []
  const isSettled = async () => {
    tasks = await system
      .database('configuration')
      .collection<Task>('tasks')
      .find({ '_id.workspace': workspace } as object)
      .toArray()
    return tasks.filter(({ doc }) => doc.status === 'completed').length === THREADS
  }
  await waitUntil(isSettled, { timeoutMs: WAIT_MS, intervalMs: LOOK_MS })
  const stored = tasks.flatMap(({ doc }) => Object.entries(doc.context.steps))
  const wrong = stored.filter(([step, { n }]) => step !== String(n)).length
  const writes = tasks.reduce((sum, { version }) => sum + version, 0)
  return { tasks: tasks.length, writes, missing: THREADS * STEPS - stored.length, wrong }
}
