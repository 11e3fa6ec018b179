import { describe, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import { bodies } from './bodies.ts'
import { eventually } from './eventually.ts'
import { startSubmissionsWorld } from './submissions-world.ts'

const world = startedForTests(startSubmissionsWorld)

describe('a submission', () => {
  test('submissions move the active task of their thread step by step, and complete it', async () => {
    const workspace = await world.fresh()
    await world.put(5, { context: { stored: [1] } }, workspace)
    for (const [at, response] of ['a', 'b', 'c'].entries()) {
      await world.submit({ workspace, messageId: `m${at}`, submit: { response } })
      await world.drained()
      expect(await world.task(5, workspace)).toMatchObject({
        status: at < 2 ? 'active' : 'completed',
        currentStep: Math.min(at + 2, 3),
      })
    }
    const steps = { 1: { response: 'a' }, 2: { response: 'b' }, 3: { response: 'c' } }
    expect(await world.task(5, workspace)).toMatchObject({ context: { stored: [1], steps } })
    expect(await world.list(workspace)).toHaveLength(1)
  })

  test('a submission without a task starts one at the first step of the default workflow, and counts for that step', async () => {
    const workspace = await world.fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'new', submit: { response: 'a' } })
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
      context: { steps: { 1: { response: 'a' } } },
    })
  })

  test('a repeated submission changes nothing, also after its task ended or was deleted', async () => {
    const workspace = await world.fresh()
    await world.server.call('PUT', '/rest/steps/1', { body: { ...bodies.steps, next: null }, workspace })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.drained()
    const ended = await world.server.call('GET', '/rest/tasks/1', { workspace })
    expect([ended.json.status, ended.headers.get('etag')]).toEqual(['completed', '"1"'])
    await world.server.call('DELETE', '/rest/tasks/1', { workspace })
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.drained()
    expect(await world.list(workspace)).toEqual([])
    // A PUT over the task keeps what was applied to it.
    await world.put(1, { extId: 't', currentStep: 2, context: null }, workspace)
    await world.submit({ workspace, messageId: 'm', thread: 't' })
    await world.submit({ workspace, messageId: 'm2', thread: 't' })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      currentStep: 3,
      context: { steps: { 2: { name: 'Ana' } } },
    })
  })

  test('a submission is applied to the active task of its thread with the lowest id', async () => {
    const workspace = await world.fresh()
    await world.put(3, { status: 'failed' }, workspace)
    await world.put(9, {}, workspace)
    await world.put(7, {}, workspace)
    await world.submit({ workspace, messageId: 'm' })
    await world.drained()
    const tasks = await world.list(workspace)
    expect(tasks.map((task: { _id: number; currentStep: number }) => [task._id, task.currentStep])).toEqual([
      [3, 1],
      [7, 2],
      [9, 1],
    ])
  })

  test.each(['pending', 'failed'])(
    'a submission to a thread with a %s task changes nothing and starts no other task',
    async (status) => {
      const workspace = await world.fresh()
      const { json } = await world.put(1, { status }, workspace)
      await world.submit({ workspace, messageId: 'm' })
      await world.drained()
      expect(await world.list(workspace)).toEqual([json])
    },
  )

  test('a submission to a thread whose task has ended starts another task', async () => {
    const workspace = await world.fresh()
    await world.put(1, { currentStep: 3 }, workspace)
    await world.submit({ workspace, messageId: 'a' })
    await world.submit({ workspace, messageId: 'b' })
    await world.drained()
    expect(await world.list(workspace)).toMatchObject([
      { _id: 1, status: 'completed' },
      { _id: 2, status: 'active', currentStep: 2 },
    ])
  })

  test('a submission with cancel: true cancels the task, and starts none', async () => {
    const workspace = await world.fresh()
    await world.put(1, {}, workspace)
    await world.submit({ workspace, messageId: 'a', submit: { cancel: true, why: 'too dear' } })
    await world.submit({ workspace, messageId: 'b', submit: { cancel: true } })
    await world.drained()
    expect(await world.list(workspace)).toMatchObject([
      { _id: 1, status: 'cancelled', context: { steps: { 1: { cancel: true, why: 'too dear' } } } },
    ])
    const body = { ...bodies.tasks, status: 'cancelled' }
    expect((await world.server.call('PUT', '/rest/tasks/1', { body, workspace })).status).toBe(200)
  })

  test('a submission cancels a task whose workflow was deleted, and not one whose workflow never existed', async () => {
    const workspace = await world.fresh()
    await world.put(1, { extId: 'deleted' }, workspace)
    await world.put(2, { extId: 'never', workflow: 99 }, workspace)
    await world.server.call('DELETE', '/rest/workflows/1?force=true', { workspace })
    for (const thread of ['deleted', 'never']) await world.submit({ workspace, messageId: thread, thread })
    await world.drained()
    expect(await world.list(workspace)).toMatchObject([
      { status: 'cancelled', currentStep: 1 },
      { status: 'active', currentStep: 2 },
    ])
  })

  test('a submission to a missing step is recorded, and the task stays there until the step exists', async () => {
    const workspace = await world.fresh()
    await world.put(1, { currentStep: 40 }, workspace)
    await world.submit({ workspace, messageId: 'a', submit: { response: 'a' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      status: 'active',
      currentStep: 40,
      context: { steps: { 40: { response: 'a' } } },
    })
    await world.server.call('PUT', '/rest/steps/40', { body: { ...bodies.steps, next: 41 }, workspace })
    await world.submit({ workspace, messageId: 'b', submit: { response: 'b' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      status: 'active',
      currentStep: 41,
      context: { steps: { 40: { response: 'b' } } },
    })
  })

  test.each([
    ['no assistant', { assistantId: null }],
    ['an assistant that is not there', { assistantId: 2 }],
  ])('of a channel with %s starts nothing', async (_what, submission) => {
    const workspace = await world.fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'x', ...submission })
    await world.drained()
    expect(await world.list(workspace)).toEqual([])
  })

  test('a task begins with the first of the steps of a workflow without firstStep', async () => {
    const workspace = await world.fresh()
    const body = { ...bodies.workflows, firstStep: null, steps: [2, 3] }
    await world.server.call('PUT', '/rest/workflows/1', { body, workspace })
    await world.submit({ workspace, messageId: 'm', thread: 'x' })
    await world.drained()
    expect(await world.list(workspace)).toMatchObject([{ currentStep: 3 }])
  })

  test('secrets in a submission are masked for callers who can only read', async () => {
    const workspace = await world.fresh()
    await world.submit({ workspace, messageId: 'm', thread: 'x', submit: { accessToken: 'open sesame' } })
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      context: { steps: { 1: { accessToken: 'open sesame' } } },
    })
    const read = await world.server.call('GET', '/rest/tasks/1', { workspace, role: 'VIEWER' })
    expect(read.json.context.steps['1']).toEqual({ accessToken: '••••' })
  })

  test('the history names the runtime as the author of a submission', async () => {
    const workspace = await world.fresh()
    await world.put(1, {}, workspace)
    await world.submit({ workspace, messageId: 'm' })
    const { json } = await eventually(
      () => world.server.call('GET', '/rest/tasks/1/history', { workspace }),
      (response) => response.json.data?.[0]?.version === 2,
    )
    expect(json.data[0]).toMatchObject({
      operation: 'updated',
      by: { _id: 0, username: 'runtime' },
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
    const deadLettered = await world.deadLettered()
    expect([deadLettered.content.toString(), deadLettered.properties.headers?.reason]).toEqual([
      content,
      reason,
    ])
    await world.drained()
  })

  test('a submission with a masked secret that is not stored is dead-lettered', async () => {
    const workspace = await world.fresh()
    await world.submit({ workspace, messageId: 'm', submit: { credentials: { pin: '••••' } } })
    expect((await world.deadLettered()).properties.headers?.reason).toBe(
      'validation_failed: nothing_stored at /context/steps/1/credentials/pin',
    )
  })
})
