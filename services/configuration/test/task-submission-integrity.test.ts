import { describe, expect, test } from '@jest/globals'
import { startedForTests } from '@parley/local/testing/started-for-tests'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { startSubmissionsWorld } from './submissions-world.ts'

const world = startedForTests(startSubmissionsWorld)

describe('while a dependency is unavailable', () => {
  test('submissions that arrive while MongoDB is unavailable are applied in order when it is back', async () => {
    const workspace = await world.fresh()
    await world.put(1, {}, workspace)
    world.server.proxies.mongo.cut()
    await world.submit({ workspace, messageId: 'a', submit: { n: 1 } })
    await world.publish('poison', { messageId: 'poison' })
    await world.submit({ workspace, messageId: 'b', submit: { n: 2 } })
    world.server.proxies.mongo.mend()
    await world.drained()
    expect(await world.task(1, workspace)).toMatchObject({
      currentStep: 3,
      context: { steps: { 1: { n: 1 }, 2: { n: 2 } } },
    })
  })

  test('a submission that was not acknowledged before RabbitMQ restarted is applied once', async () => {
    const workspace = await world.fresh()
    await world.put(1, {}, workspace)
    const threads = Array.from({ length: 40 }, (_, at) => `t${at}`)
    const published = threads.map((thread) => world.submit({ workspace, messageId: thread, thread }))
    world.server.proxies.rabbitmq.cut()
    await Promise.all(published)
    await world.submit({ workspace, messageId: 'last' })
    world.server.proxies.rabbitmq.mend()
    await world.drained()
    const tasks = await world.list(workspace)
    expect(tasks).toHaveLength(41)
    expect(tasks.every((task: { currentStep: number }) => task.currentStep === 2)).toBe(true)
  })
})

test('callers who write the same task at the same time lose nothing, and neither does the runtime', async () => {
  const workspace = await world.fresh()
  await world.server.call('PUT', '/rest/steps/3', { body: { ...bodies.steps, next: 1 }, workspace })
  await world.put(1, { context: {} }, workspace)
  const submissions = Array.from({ length: 30 }, (_, at) =>
    world.submit({ workspace, messageId: `m${at}`, submit: { n: at } }),
  )
  const patches = Array.from({ length: 30 }, (_, at) =>
    world.server.call('PATCH', '/rest/tasks/1', { body: { context: { [`k${at}`]: at } }, workspace }),
  )
  const responses = await Promise.all(patches)
  await Promise.all(submissions)
  await world.drained()
  expect(responses.every(({ status }) => status === 200)).toBe(true)
  const { json, headers } = await world.server.call('GET', '/rest/tasks/1', { workspace })
  const { steps, ...patched } = json.context
  expect(patched).toEqual(Object.fromEntries(patches.map((_, at) => [`k${at}`, at])))
  expect([json.currentStep, steps]).toEqual([1, { 1: { n: 27 }, 2: { n: 28 }, 3: { n: 29 } }])
  expect(headers.get('etag')).toBe('"61"')
})

test('a submission that is delivered several times is applied once', async () => {
  const submission = fc.record({ id: fc.nat(5), times: fc.integer({ min: 1, max: 3 }) })
  const submit = (workspace: number, id: number) =>
    world.submit({ workspace, messageId: `m${id}`, thread: `t${id % 2}`, submit: { id } })
  await fc.assert(
    fc.asyncProperty(fc.array(submission, { maxLength: 8 }), async (sent) => {
      const [once, often] = [await world.fresh(), await world.fresh()]
      for (const id of new Set(sent.map(({ id }) => id))) await submit(once, id)
      for (const { id, times } of sent) {
        for (let n = 0; n < times; n++) await submit(often, id)
      }
      await world.drained()
      expect(await comparable(often)).toEqual(await comparable(once))
    }),
    { numRuns: 8 },
  )
})

/** The tasks of a workspace by thread, without what differs between two workspaces. */
async function comparable(workspace: number): Promise<object[]> {
  const tasks: (Record<string, unknown> & { extId: string })[] = await world.list(workspace)
  return tasks
    .toSorted((left, right) => left.extId.localeCompare(right.extId))
    .map(({ _id, createdAt, updatedAt, ...task }) => task)
}
