import { describe, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests({
  roles: {
    STEPS: [{ schema: "{{resource}} == 'steps'", read: 'true', write: 'true' }],
    STEPS_ONLY: [
      { schema: "{{resource}} == 'steps' || {{resource}} == 'jobs'", read: 'true', write: 'true' },
    ],
  },
})

const put = async (path: string, body: unknown) =>
  expect((await server.call('PUT', `/rest/${path}`, { body })).status).toBe(200)

test('what others refer to is deleted only by force, and the referrers are named', async () => {
  await put('steps/1', { ...bodies.steps, job: 4, next: 1 })
  await put('assistant/2', { ...bodies.assistant, job: 4, actions: [7, 8] })
  await put('actions/8', bodies.actions)
  await put('jobs/4', { ...bodies.jobs, actions: [8] })

  const refused = await server.call('DELETE', '/rest/jobs/4')
  expect([refused.status, refused.json.code]).toEqual([409, 'still_referenced'])
  expect(refused.json.referrers).toEqual([
    { resource: 'steps', _id: 1, field: 'job' },
    { resource: 'assistant', _id: 2, field: 'job' },
  ])
  const action = await server.call('DELETE', '/rest/actions/8')
  expect(action.json.referrers).toEqual([
    { resource: 'assistant', _id: 2, field: 'actions' },
    { resource: 'jobs', _id: 4, field: 'actions' },
  ])
  expect((await server.call('DELETE', '/rest/jobs/4?force=false')).status).toBe(409)
  const hidden = await server.call('DELETE', '/rest/jobs/4', { role: 'STEPS_ONLY' })
  expect(hidden.json.referrers).toEqual([{ resource: 'steps', _id: 1, field: 'job' }])
  expect((await server.call('DELETE', '/rest/jobs/4?force=true')).status).toBe(200)
  expect((await server.call('DELETE', '/rest/actions/8?force=true')).status).toBe(200)
})

test('a document that refers only to itself can be deleted, as can one whose referrers are gone', async () => {
  await put('steps/20', { ...bodies.steps, next: 20, job: null })
  await put('steps/21', { ...bodies.steps, next: 20, job: null })
  expect((await server.call('DELETE', '/rest/steps/20')).status).toBe(409)
  expect((await server.call('DELETE', '/rest/steps/21')).status).toBe(200)
  expect((await server.call('DELETE', '/rest/steps/20')).status).toBe(200)
})

test('a config refers to its owner where the type names a resource, a channel to its assistant', async () => {
  await put('assistant/30', bodies.assistant)
  await put('configs/1', { ...bodies.configs, owner: 30, ownerType: 'assistant' })
  await put('configs/2', { ...bodies.configs, owner: 30, ownerType: 'job' })
  await put('configs/3', { ...bodies.configs, owner: 30, ownerType: 'team' })
  await put('channels/3', { ...bodies.channels, config: { assistantId: 30 } })
  const { json } = await server.call('DELETE', '/rest/assistant/30')
  expect(json.referrers).toEqual([
    { resource: 'channels', _id: 3, field: 'config.assistantId' },
    { resource: 'configs', _id: 1, field: 'owner' },
  ])
})

test("another workspace's references do not count", async () => {
  await put('jobs/50', bodies.jobs)
  await server.call('PUT', '/rest/steps/50', { body: { ...bodies.steps, job: 50 }, workspace: 2 })
  expect((await server.call('DELETE', '/rest/jobs/50')).status).toBe(200)
})

describe('_populate', () => {
  test('_populate replaces ids by the documents that the caller can read', async () => {
    await put('jobs/60', bodies.jobs)
    await put('actions/61', bodies.actions)
    const body = { ...bodies.assistant, name: 'P', job: 60, actions: [61, 999] }
    await put('assistant/60', body)
    await put('channels/60', { ...bodies.channels, config: { z: 1, assistantId: 60, a: 2 } })
    await put('configs/60', { ...bodies.configs, owner: 60, ownerType: 'assistant' })
    const one = await server.call('GET', '/rest/assistant/60?_populate=job,actions')
    expect(one.json).toMatchObject({
      name: 'P',
      job: { _id: 60, ...bodies.jobs },
      actions: [{ _id: 61 }, 999],
    })
    const list = await server.call('GET', '/rest/assistant?name=P&_populate=job')
    expect(list.json.data).toEqual([
      expect.objectContaining({ job: expect.objectContaining({ _id: 60 }), actions: [61, 999] }),
    ])
    const channel = await server.call('GET', '/rest/channels/60?_populate=config.assistantId')
    expect(Object.entries(channel.json.config)).toEqual([
      ['z', 1],
      ['assistantId', expect.objectContaining({ name: 'P' })],
      ['a', 2],
    ])
    const config = await server.call('GET', '/rest/configs/60?_populate=owner')
    expect(config.json.owner).toMatchObject({ name: 'P' })
    const steps = await server.call('POST', '/rest/steps', { body: { ...bodies.steps, job: 60, next: null } })
    const hidden = await server.call('GET', `/rest/steps/${steps.json._id}?_populate=job,next`, {
      role: 'STEPS',
    })
    expect(hidden.json).toMatchObject({ job: 60, next: null })
  })

  test('_populate accepts only names of references, and a bounded number', async () => {
    for (const fields of ['name', '', 'job,', 'toString', 'actions.spec']) {
      const response = await server.call('GET', `/rest/assistant?_populate=${fields}`)
      expect([response.status, response.json.errors[0].path]).toEqual([422, '/_populate'])
    }
    const spec = 'x'.repeat(3 * 1024 * 1024)
    for (const id of [71, 72, 73]) await put(`actions/${id}`, { ...bodies.actions, spec })
    await put('assistant/70', { ...bodies.assistant, actions: [71, 72, 73] })
    expect((await server.call('GET', '/rest/assistant/70?_populate=actions')).status).toBe(422)
  })

  test('_populate counts a document as often as it is named', async () => {
    await put('actions/74', { ...bodies.actions, spec: 'x'.repeat(256 * 1024) })
    const naming = (times: number) => ({
      ...bodies.assistant,
      name: 'Repeats',
      actions: Array(times).fill(74),
    })
    await put('assistant/74', naming(10_000))
    const many = await server.call('GET', '/rest/assistant/74?_populate=actions')
    expect([many.status, many.json.errors?.[0].path]).toEqual([422, '/_populate'])
    for (const id of [74, 75, 76, 77]) await put(`assistant/${id}`, naming(10))
    const page = (limit: number) =>
      server.call('GET', `/rest/assistant?name=Repeats&limit=${limit}&_populate=actions`)
    expect([(await page(4)).status, (await page(2)).status]).toEqual([422, 200])
  })
})

describe('Prefer: handling=strict', () => {
  const send = (method: string, path: string, body: unknown, role?: string) =>
    server.call(method, `/rest/${path}`, {
      body,
      headers: { prefer: 'handling=strict' },
      ...(role ? { role } : {}),
    })

  test('Prefer: handling=strict refuses dangling references with their paths', async () => {
    await put('actions/81', bodies.actions)
    await put('jobs/80', bodies.jobs)
    const body = { ...bodies.assistant, job: 80, actions: [81, 82], configs: [83] }
    for (const [method, path] of [
      ['PUT', 'assistant/80'],
      ['POST', 'assistant'],
    ] as const) {
      const response = await send(method, path, body)
      expect(response.status).toBe(422)
      expect(
        response.json.errors.map(({ path, code }: { path: string; code: string }) => [path, code]),
      ).toEqual([
        ['/actions/1', 'dangling_reference'],
        ['/configs/0', 'dangling_reference'],
      ])
    }
    await put('assistant/80', body)
    expect((await send('PATCH', 'assistant/80', { name: 'x' })).status).toBe(422)
    const mended = await send('PATCH', 'assistant/80', { actions: [81], configs: null })
    expect([mended.status, mended.headers.get('preference-applied')]).toEqual([200, 'handling=strict'])
  })

  test('Prefer: handling=strict accepts a reference to the document itself, and none that the caller cannot see', async () => {
    const body = { ...bodies.steps, job: null, next: 90 }
    expect((await send('PUT', 'steps/90', body)).status).toBe(200)
    expect((await send('PUT', 'steps/91', { ...body, job: 80 }, 'STEPS')).status).toBe(422)
    await server.call('PUT', '/rest/jobs/92', { body: bodies.jobs, workspace: 2 })
    expect((await send('PUT', 'steps/92', { ...body, job: 92 })).status).toBe(422)
  })
})
