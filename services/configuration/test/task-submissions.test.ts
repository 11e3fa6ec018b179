import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { eventually } from './eventually.ts'
import { configure, type SubmissionsWorld, startSubmissionsWorld } from './submissions-world.ts'

let world: SubmissionsWorld
let workspace = 0

beforeAll(async () => {
  world = await startSubmissionsWorld()
})
afterAll(() => world.close())

/** A workspace of its own for each test. */
async function fresh(): Promise<number> {
  workspace++
  await configure(world.server, workspace)
  return workspace
}

const put = (id: number, body: object, workspace: number) =>
  world.server.call('PUT', `/rest/tasks/${id}`, { body: { ...bodies.tasks, ...body }, workspace })
const list = async (workspace: number) =>
  (await world.server.call('GET', '/rest/tasks', { workspace })).json.data

describe('a submission', () => {
  test('moves the active task of its thread step by step, and completes it', async () => {
    const workspace = await fresh()
    await put(5, { context: { kept: [1] } }, workspace)
    for (const [at, answer] of ['a', 'b', 'c'].entries()) {
      await world.submit({ workspace, messageId: `m${at}`, submit: { answer } })
      await world.drained()
      expect(await world.task(5, workspace)).toMatchObject({
        status: at < 2 ? 'active' : 'completed',
        currentStep: Math.min(at + 2, 3),
      })
    }
    const steps = { 1: { answer: 'a' }, 2: { answer: 'b' }, 3: { answer: 'c' } }
    expect(await world.task(5, workspace)).toMatchObject({ context: { kept: [1], steps } })
    expect(await list(workspace)).toHaveLength(1)
  })

  test('starts a task at the first step of the default workflow, and counts for that step', async () => {
    const workspace = await fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'new', submit: { answer: 'a' } })
    await world.drained()
    const { createdAt, updatedAt, ...task } = await world.task(1, workspace)
    expect(createdAt).toBe(updatedAt)
    expect(task).toEqual({
      _id: 1,
      workflow: 1,
      currentStep: 2,
      status: 'active',
      name: bodies.workflows.name,
      description: bodies.workflows.description,
      extId: 'new',
      context: { steps: { 1: { answer: 'a' } } },
    })
  })

  test('that comes again changes nothing, also after its task ended or was deleted', async () => {
    const workspace = await fresh()
    await world.server.call('PUT', '/rest/steps/1', { body: { ...bodies.steps, next: null }, workspace })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.drained()
    const ended = await world.server.call('GET', '/rest/tasks/1', { workspace })
    expect([ended.json.status, ended.headers.get('etag')]).toEqual(['completed', '"1"'])
    await world.server.call('DELETE', '/rest/tasks/1', { workspace })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.drained()
    expect(await list(workspace)).toEqual([])
    // A PUT over the task keeps what was applied to it.
    await put(1, { extId: 't', currentStep: 2, context: null }, workspace)
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.submit({ workspace, messageId: 'm2', thread: 't' })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      currentStep: 3,
      context: { steps: { 2: { name: 'Ana' } } },
    })
  })

  test('goes to the active one of several tasks, then to the one with the lowest id', async () => {
    const workspace = await fresh()
    await put(3, { status: 'failed' }, workspace)
    await put(9, {}, workspace)
    await put(7, {}, workspace)
    await world.submit({ workspace, messageId: 'm' })
    await world.drained()
    const tasks = await list(workspace)
    expect(tasks.map((task: { _id: number; currentStep: number }) => [task._id, task.currentStep])).toEqual([
      [3, 1],
      [7, 2],
      [9, 1],
    ])
  })

  test.each(['pending', 'failed'])('finds a task that is %s stopped, and starts no other', async (status) => {
    const workspace = await fresh()
    const { json } = await put(1, { status }, workspace)
    await world.submit({ workspace, messageId: 'm' })
    await world.drained()
    expect(await list(workspace)).toEqual([json])
  })

  test('starts another task in a thread whose task has ended', async () => {
    const workspace = await fresh()
    await put(1, { currentStep: 3 }, workspace)
    await world.submit({ workspace, messageId: 'a' })
    await world.submit({ workspace, messageId: 'b' })
    await world.drained()
    expect(await list(workspace)).toMatchObject([
      { _id: 1, status: 'completed' },
      { _id: 2, status: 'active', currentStep: 2 },
    ])
  })

  test('with cancel: true cancels the task, and starts none', async () => {
    const workspace = await fresh()
    await put(1, {}, workspace)
    await world.submit({ workspace, messageId: 'a', submit: { cancel: true, why: 'too dear' } })
    await world.submit({ workspace, messageId: 'b', submit: { cancel: true } })
    await world.drained()
    expect(await list(workspace)).toMatchObject([
      { _id: 1, status: 'cancelled', context: { steps: { 1: { cancel: true, why: 'too dear' } } } },
    ])
    const body = { ...bodies.tasks, status: 'cancelled' }
    expect((await world.server.call('PUT', '/rest/tasks/1', { body, workspace })).status).toBe(200)
  })

  test('cancels a task whose workflow was deleted; one that never was there stops nothing', async () => {
    const workspace = await fresh()
    await put(1, { extId: 'deleted' }, workspace)
    await put(2, { extId: 'never', workflow: 99 }, workspace)
    await world.server.call('DELETE', '/rest/workflows/1?force=true', { workspace })
    for (const thread of ['deleted', 'never']) await world.submit({ workspace, messageId: thread, thread })
    await world.drained()
    expect(await list(workspace)).toMatchObject([
      { status: 'cancelled', currentStep: 1 },
      { status: 'active', currentStep: 2 },
    ])
  })

  test('to a step that is not there is recorded, and the task stays until the step is there', async () => {
    const workspace = await fresh()
    await put(1, { currentStep: 40 }, workspace)
    await world.submit({ workspace, messageId: 'a', submit: { answer: 'a' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      ...{ status: 'active', currentStep: 40, context: { steps: { 40: { answer: 'a' } } } },
    })
    await world.server.call('PUT', '/rest/steps/40', { body: { ...bodies.steps, next: 41 }, workspace })
    await world.submit({ workspace, messageId: 'b', submit: { answer: 'b' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      ...{ status: 'active', currentStep: 41, context: { steps: { 40: { answer: 'b' } } } },
    })
  })

  test.each([
    ['no assistant', { assistantId: null }],
    ['an assistant that is not there', { assistantId: 2 }],
  ])('of a channel with %s starts nothing', async (_what, submission) => {
    const workspace = await fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'x', ...submission })
    await world.drained()
    expect(await list(workspace)).toEqual([])
  })

  test('begins with the first of the steps where the workflow names no first one', async () => {
    const workspace = await fresh()
    const body = { ...bodies.workflows, firstStep: null, steps: [2, 3] }
    await world.server.call('PUT', '/rest/workflows/1', { body, workspace })
    await world.submit({ workspace, messageId: 'm', thread: 'x' })
    await world.drained()
    expect(await list(workspace)).toMatchObject([{ currentStep: 3 }])
  })

  test('keeps the secrets in it from those who may only read', async () => {
    const workspace = await fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'x', submit: { accessToken: 'open sesame' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      context: { steps: { 1: { accessToken: 'open sesame' } } },
    })
    const read = await world.server.call('GET', '/rest/tasks/1', { workspace, role: 'VIEWER' })
    expect(read.json.context.steps['1']).toEqual({ accessToken: '••••' })
  })

  test('has the runtime as its author in the history', async () => {
    const workspace = await fresh()
    await put(1, {}, workspace)
    await world.submit({ workspace, messageId: 'm' })
    const { json } = await eventually(
      () => world.server.call('GET', '/rest/tasks/1/history', { workspace }),
      (answer) => answer.json.data?.[0]?.version === 2,
    )
    expect(json.data[0]).toMatchObject({
      ...{ operation: 'updated', by: { _id: 0, username: 'runtime' } },
      changes: [
        { path: '/currentStep', before: 1, after: 2 },
        { path: '/context/steps', after: { 1: { name: 'Ana' } } },
      ],
    })
  })
})

describe('what can not be worked', () => {
  test.each([
    ['not JSON', 'x{', {}, 'body field / is wrong'],
    ['of another version', '{}', { type: 'task.submitted.v2' }, 'unknown message type "task.submitted.v2"'],
    ['without a thread', '{"workspace":1,"messageId":"m"}', {}, 'body field /channelId is wrong'],
  ])('is rejected with its reason: %s', async (_what, content, properties, reason) => {
    await world.publish(content, { messageId: 'poison', ...properties })
    const rejected = await world.rejected()
    expect([rejected.content.toString(), rejected.properties.headers?.reason]).toEqual([content, reason])
    await world.drained()
  })

  test('is rejected: a masked secret, of which there is nothing to keep', async () => {
    const workspace = await fresh()
    await world.submit({ workspace, messageId: 'm', submit: { credentials: { pin: '••••' } } })
    expect((await world.rejected()).properties.headers?.reason).toBe(
      'validation_failed: nothing_stored at /context/steps/1/credentials/pin',
    )
  })
})

describe('while something is away', () => {
  test('MongoDB: nothing is lost, and all goes on in order when it is back', async () => {
    const workspace = await fresh()
    await put(1, {}, workspace)
    world.mongo.cut()
    await world.submit({ workspace, messageId: 'a', submit: { n: 1 } })
    await world.publish('poison', { messageId: 'poison' })
    await world.submit({ workspace, messageId: 'b', submit: { n: 2 } })
    world.mongo.mend()
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      ...{ currentStep: 3, context: { steps: { 1: { n: 1 }, 2: { n: 2 } } } },
    })
  })

  test('the broker: what was not acknowledged comes again and counts once', async () => {
    const workspace = await fresh()
    await put(1, {}, workspace)
    const threads = Array.from({ length: 40 }, (_, at) => `t${at}`)
    const published = threads.map((thread) => world.submit({ workspace, messageId: thread, thread }))
    world.broker.cut()
    await Promise.all(published)
    await world.submit({ workspace, messageId: 'last' })
    world.broker.mend()
    await world.drained()
    const tasks = await list(workspace)
    expect(tasks).toHaveLength(41)
    expect(tasks.every((task: { currentStep: number }) => task.currentStep === 2)).toBe(true)
  })
})

test('callers who write the same task at the same time lose nothing, and neither does the runtime', async () => {
  const workspace = await fresh()
  await world.server.call('PUT', '/rest/steps/3', { body: { ...bodies.steps, next: 1 }, workspace })
  await put(1, { context: {} }, workspace)
  const submissions = Array.from({ length: 30 }, (_, at) =>
    world.submit({ workspace, messageId: `m${at}`, submit: { n: at } }),
  )
  const patches = Array.from({ length: 30 }, (_, at) =>
    world.server.call('PATCH', '/rest/tasks/1', { body: { context: { [`k${at}`]: at } }, workspace }),
  )
  const answers = await Promise.all(patches)
  await Promise.all(submissions)
  await world.drained()
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  const { json, headers } = await world.server.call('GET', '/rest/tasks/1', { workspace })
  const { steps, ...patched } = json.context
  expect(patched).toEqual(Object.fromEntries(patches.map((_, at) => [`k${at}`, at])))
  expect([json.currentStep, steps]).toEqual([1, { 1: { n: 27 }, 2: { n: 28 }, 3: { n: 29 } }])
  expect(headers.get('etag')).toBe('"61"')
})

test('however often each submission comes, it counts once', async () => {
  const submission = fc.record({ id: fc.nat(5), times: fc.integer({ min: 1, max: 3 }) })
  const submit = (workspace: number, id: number) =>
    world.submit({ workspace, messageId: `m${id}`, thread: `t${id % 2}`, submit: { id } })
  await fc.assert(
    fc.asyncProperty(fc.array(submission, { maxLength: 8 }), async (sent) => {
      const [once, often] = [await fresh(), await fresh()]
      for (const id of new Set(sent.map(({ id }) => id))) await submit(once, id)
      for (const { id, times } of sent) {
        for (let n = 0; n < times; n++) await submit(often, id)
      }
      await world.drained()
      expect(await comparable(often)).toEqual(await comparable(once))
    }),
    { numRuns: 8 },
  )
}, 180_000)

/** The tasks of a workspace by thread, without what differs between two workspaces. */
async function comparable(workspace: number): Promise<object[]> {
  const tasks: (Record<string, unknown> & { extId: string })[] = await list(workspace)
  return tasks
    .toSorted((left, right) => left.extId.localeCompare(right.extId))
    .map(({ _id, createdAt, updatedAt, ...task }) => task)
}
