import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TaskOperation } from '@parley/shared/task-operation'
import { bodies } from './bodies.ts'
import { type ConfigurationServer, startConfiguration } from './configuration-server.ts'

let server: ConfigurationServer
beforeAll(async () => {
  server = await startConfiguration()
})
afterAll(() => server.close())

let workspaces = 0
/** An assistant (1) whose job (1) has workflow 1 with the steps 1 → 2 → 3, named after their ids. */
async function fresh(): Promise<number> {
  const workspace = ++workspaces
  const put = (path: string, body: object) => server.call('PUT', `/rest/${path}`, { body, workspace })
  await put('assistant/1', { ...bodies.assistant, configs: null })
  await put('jobs/1', bodies.jobs)
  await put('workflows/1', { ...bodies.workflows, steps: [1, 2, 3] })
  for (const id of [1, 2, 3])
    await put(`steps/${id}`, { ...bodies.steps, name: `Step ${id}`, next: id === 3 ? null : id + 1 })
  return workspace
}

const path = (workspace: number) => `/internal/workspaces/${workspace}/tasks/operations`
let calls = 0
async function apply(
  workspace: number,
  operation: TaskOperation['operation'],
  { id = `m:t0:${++calls}`, thread = 'thread-1', assistantId = 1 as number | null } = {},
) {
  const body = { id, channelId: 1, assistantId, thread, operation }
  const { status, json } = await server.callAs('dispatcher', path(workspace), { method: 'POST', body })
  return status === 200 ? json : { status, json }
}
const task = async (workspace: number, id = 1) =>
  (await server.call('GET', `/rest/tasks/${id}`, { workspace })).json
const put = (workspace: number, resource: string, body: object) =>
  server.call('PUT', `/rest/${resource}`, { body, workspace })
const start = (workspace: number) => apply(workspace, { kind: 'createTask', workflow: 'Onboarding' })

describe('an operation of an agent on the task of its thread', () => {
  test('submit records what the step yields and moves the task on, to its end', async () => {
    const workspace = await fresh()
    await put(workspace, 'tasks/1', bodies.tasks)
    const texts = []
    for (const name of ['a', 'b', 'c'])
      texts.push(await apply(workspace, { kind: 'submit', submit: { name } }))
    expect(texts).toEqual([
      { state: 'done', text: 'The task "Onboard" is at the step "Step 2".' },
      { state: 'done', text: 'The task "Onboard" is at the step "Step 3".' },
      { state: 'done', text: 'The task "Onboard" is completed.' },
    ])
    const steps = { 1: { name: 'a' }, 2: { name: 'b' }, 3: { name: 'c' } }
    expect(await task(workspace)).toMatchObject({ status: 'completed', context: { steps } })
  })

  test('submit starts the default workflow where the thread has no task, as a submission of an answer does', async () => {
    const workspace = await fresh()
    const result = await apply(workspace, { kind: 'submit', submit: { name: 'a' } }, { thread: 'new' })
    expect(result.text).toBe('The task "Onboarding" is at the step "Step 2".')
    expect(await task(workspace)).toMatchObject({ extId: 'new', currentStep: 2 })
  })

  test('createTask starts a workflow for the thread once', async () => {
    const workspace = await fresh()
    expect(await start(workspace)).toEqual({
      state: 'done',
      text: 'The task "Onboarding" is at the step "Step 1".',
    })
    expect(await task(workspace)).toMatchObject({ extId: 'thread-1', status: 'active', currentStep: 1 })
    expect(await start(workspace)).toMatchObject({
      state: 'failed',
      text: expect.stringContaining('active task already'),
    })
  })

  test("createTask starts only the job's default workflow and those of the assistant's config workflows", async () => {
    const workspace = await fresh()
    await put(workspace, 'workflows/2', { ...bodies.workflows, name: 'Return', steps: [3], firstStep: 3 })
    const other = { kind: 'createTask', workflow: 'Return' } as const
    expect(await apply(workspace, other)).toEqual({
      state: 'failed',
      text: 'There is no workflow "Return" here. There are: "Onboarding".',
    })
    await put(workspace, 'configs/1', {
      name: 'workflows',
      value: { ids: [2] },
      owner: 1,
      ownerType: 'assistant',
    })
    expect((await apply(workspace, other)).text).toBe('The task "Return" is at the step "Step 3".')
  })

  test('changeStep goes to a step of the workflow by its name, and names those there are', async () => {
    const workspace = await fresh()
    await start(workspace)
    expect((await apply(workspace, { kind: 'changeStep', step: 'Step 3' })).text).toContain('"Step 3"')
    expect(await task(workspace)).toMatchObject({ currentStep: 3 })
    expect(await apply(workspace, { kind: 'changeStep', step: 'Step 4' })).toEqual({
      state: 'failed',
      text: 'There is no step "Step 4" here. There are: "Step 1", "Step 2", "Step 3".',
    })
  })

  test('changeStep finds the steps of a workflow that only names its first', async () => {
    const workspace = await fresh()
    await put(workspace, 'workflows/1', { ...bodies.workflows, steps: null })
    await start(workspace)
    expect((await apply(workspace, { kind: 'changeStep', step: 'Step 3' })).state).toBe('done')
  })

  test('cancelTask ends the task, and a next one may be started', async () => {
    const workspace = await fresh()
    await start(workspace)
    expect((await apply(workspace, { kind: 'cancelTask' })).text).toBe('The task "Onboarding" is cancelled.')
    expect(await task(workspace)).toMatchObject({ status: 'cancelled' })
    expect((await start(workspace)).state).toBe('done')
    expect(await task(workspace, 2)).toMatchObject({ status: 'active' })
  })

  test('setState puts a value beside the others, and leaves the rest of the context alone', async () => {
    const workspace = await fresh()
    await put(workspace, 'tasks/1', bodies.tasks)
    await apply(workspace, { kind: 'setState', key: 'size', value: 42 })
    await apply(workspace, { kind: 'setState', key: '__proto__', value: { a: 1 } })
    const { context } = await task(workspace)
    expect(JSON.stringify(context)).toBe('{"a":{"b":[1,2]},"state":{"size":42,"__proto__":{"a":1}}}')
  })

  test('is applied once for each id, and answers the same again', async () => {
    const workspace = await fresh()
    await put(workspace, 'tasks/1', bodies.tasks)
    const operations: TaskOperation['operation'][] = [
      { kind: 'submit', submit: { name: 'a' } },
      { kind: 'setState', key: 'k', value: 1 },
      { kind: 'changeStep', step: 'Step 1' },
      { kind: 'cancelTask' },
      { kind: 'createTask', workflow: 'Onboarding' },
    ]
    for (const [n, operation] of operations.entries()) {
      const once = await apply(workspace, operation, { id: `again:${n}` })
      const versions = async () =>
        (await server.call('GET', '/rest/tasks', { workspace })).json.data.map(
          ({ updatedAt }: { updatedAt: string }) => updatedAt,
        )
      const before = await versions()
      expect([operation.kind, await apply(workspace, operation, { id: `again:${n}` })]).toEqual([
        operation.kind,
        once,
      ])
      expect(once.state).toBe('done')
      expect(await versions()).toEqual(before)
    }
  })

  test('that comes twice at the same time is applied once', async () => {
    const workspace = await fresh()
    await put(workspace, 'tasks/1', bodies.tasks)
    const submit = () => apply(workspace, { kind: 'submit', submit: { a: 1 } }, { id: 'same' })
    const results = await Promise.all([submit(), submit(), submit()])
    expect(results.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(await task(workspace)).toMatchObject({ currentStep: 2 })
  })

  test('is refused while somebody has stopped the task, and where there is none', async () => {
    const workspace = await fresh()
    for (const operation of [
      { kind: 'cancelTask' },
      { kind: 'changeStep', step: 'Step 1' },
      { kind: 'setState', key: 'k', value: 1 },
    ] as const)
      expect(await apply(workspace, operation)).toEqual({
        state: 'failed',
        text: 'There is no active task.',
      })
    await put(workspace, 'tasks/1', { ...bodies.tasks, status: 'pending' })
    for (const operation of [
      { kind: 'submit', submit: { a: 1 } },
      { kind: 'createTask', workflow: 'Onboarding' },
    ] as const)
      expect(await apply(workspace, operation)).toMatchObject({
        state: 'failed',
        text: expect.stringContaining('has stopped it'),
      })
  })

  test('is refused beyond its bounds, and with what can not be stored', async () => {
    const workspace = await fresh()
    await put(workspace, 'tasks/1', bodies.tasks)
    const long = 'x'.repeat(40_000)
    expect((await apply(workspace, { kind: 'setState', key: 'a', value: long })).state).toBe('done')
    const results = [
      await apply(workspace, { kind: 'setState', key: 'b', value: long }),
      await apply(workspace, { kind: 'submit', submit: { long, longer: long } }),
      await apply(workspace, { kind: 'setState', key: 'token', value: '••••' }),
      await apply(workspace, { kind: 'setState', key: 'secret', value: Array(1_001).fill('s') }),
    ]
    expect(results.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed', 'failed'])
    expect(await task(workspace)).toMatchObject({ currentStep: 1 })
    expect(Object.keys((await task(workspace)).context.state)).toEqual(['a'])
  })

  test('survives that workflow, step and assistant are deleted meanwhile', async () => {
    const workspace = await fresh()
    await start(workspace)
    const remove = (what: string) => server.call('DELETE', `/rest/${what}?force=true`, { workspace })
    await remove('steps/2')
    expect((await apply(workspace, { kind: 'submit', submit: { a: 1 } })).text).toBe(
      'The task "Onboarding" is at a step that does not exist.',
    )
    await remove('workflows/1')
    expect(await apply(workspace, { kind: 'changeStep', step: 'Step 1' })).toEqual({
      state: 'failed',
      text: "The task's workflow was deleted.",
    })
    expect((await apply(workspace, { kind: 'submit', submit: { a: 1 } })).text).toContain('is cancelled')
    await remove('assistant/1')
    expect(await start(workspace)).toEqual({
      state: 'failed',
      text: 'There is no workflow "Onboarding" here. There are: none.',
    })
  })

  test('is only taken from services, and only in its shape', async () => {
    const workspace = await fresh()
    const body = { id: '', operation: { kind: 'drop' } }
    const wrong = await server.callAs('dispatcher', path(workspace), { method: 'POST', body })
    expect(wrong.status).toBe(422)
    expect((await server.callAs('identity', path(workspace), { method: 'POST', body })).status).toBe(403)
    expect((await server.callAs('dispatcher', path(workspace))).status).toBe(405)
  })
})

test('services read the active task of a thread, fresh', async () => {
  const workspace = await fresh()
  const read = () => server.callAs('dispatcher', `/internal/workspaces/${workspace}/tasks?thread=thread-1`)
  expect((await read()).status).toBe(404)
  await start(workspace)
  expect((await read()).json).toMatchObject({ _id: 1, version: 1, currentStep: 1 })
  await apply(workspace, { kind: 'submit', submit: { a: 1 } })
  expect((await read()).json).toMatchObject({ _id: 1, version: 2, currentStep: 2 })
  await apply(workspace, { kind: 'cancelTask' })
  expect((await read()).status).toBe(404)
})

test('services read the configs of an owner, lowest id first, their secrets sealed', async () => {
  const workspace = await fresh()
  const config = { ...bodies.configs, owner: 5, ownerType: 'action' }
  await put(workspace, 'configs/3', { ...config, name: 'credentials', value: { apiKey: 'in the clear' } })
  await put(workspace, 'configs/2', config)
  await put(workspace, 'configs/4', { ...config, owner: 6 })
  await put(workspace, 'configs/5', { ...config, ownerType: 'assistant' })
  const query = `/internal/workspaces/${workspace}/configs?owner=5&ownerType=action`
  const { json, text } = await server.callAs('dispatcher', query)
  expect(json.data.map(({ _id }: { _id: number }) => _id)).toEqual([2, 3])
  expect(text).not.toContain('in the clear')
  const wrong = await server.callAs('dispatcher', `/internal/workspaces/${workspace}/configs?owner=x`)
  expect(wrong.status).toBe(422)
})
