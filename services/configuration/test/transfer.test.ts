import { beforeAll, expect, test } from '@jest/globals'
import { CONFIGURATION_RESOURCES } from '@parley/shared/configuration-resources'
import { definitions } from '../src/resources/all-resources.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'

const server = configurationForTests({
  roles: {
    STEPS: [{ schema: "{{resource}} == 'steps'", read: 'true', write: 'true' }],
    LOW: [{ schema: 'true', read: 'true', write: '{{doc._id}} < 5' }],
  },
})
beforeAll(async () => {
  for (const resource of CONFIGURATION_RESOURCES) {
    await server.call('PUT', `/rest/${resource}/3`, { body: bodies[resource] })
    await server.call('POST', `/rest/${resource}`, { body: bodies[resource] })
  }
  await server.call('PUT', '/rest/configs/provider', { body: bodies.configs })
  const odd = JSON.parse('{"accessToken":"a secret","z":1,"__proto__":{"a":[1]},"$ref":"x","$id":1,"":{}}')
  await server.call('PUT', '/rest/channels/9', { body: { ...bodies.channels, config: odd } })
})

const exported = async (workspace: number, role = 'WORKSPACE_ADMIN') =>
  (await server.call('GET', '/rest/export', { workspace, role })).json
const load = (body: unknown, options: { workspace?: number; query?: string; role?: string } = {}) =>
  server.call('POST', `/rest/import${options.query ?? ''}`, { body, ...options })

test('an export contains everything but tasks and times', async () => {
  const all = await exported(1)
  expect(all.version).toBe(1)
  expect(Object.keys(all.resources)).toEqual(CONFIGURATION_RESOURCES.filter((name) => name !== 'tasks'))
  expect(all.resources.jobs).toEqual([
    { _id: 1, ...bodies.jobs },
    { _id: 3, ...bodies.jobs },
  ])
  expect(all.resources.configs[2]).toEqual({ _id: 3, ...bodies.configs })
  expect(all.resources.configs[1]).toEqual({ _id: 2, key: 'provider', ...bodies.configs })
})

test('an import into an empty workspace makes it the same, byte for byte; again it changes nothing', async () => {
  const withSecrets = (workspace: number) =>
    server.call('GET', '/rest/export?secrets=true', { workspace }).then(({ text }) => text)
  const text = await withSecrets(1)
  expect(text).toContain('"accessToken":"a secret"')
  const all = JSON.parse(text)
  const count = Object.values<object[]>(all.resources).flat().length
  expect(count).toBeGreaterThan(14)
  const planned = await load(all, { workspace: 2, query: '?dryRun=true' })
  expect(planned.json).toMatchObject({ dryRun: true, summary: { create: count, update: 0, unchanged: 0 } })
  expect((await exported(2)).resources.jobs).toEqual([])
  const applied = await load(all, { workspace: 2 })
  expect(applied.json.summary).toEqual({ create: count, update: 0, unchanged: 0 })
  expect(await withSecrets(2)).toBe(text)
  const again = await load(all, { workspace: 2 })
  expect(again.json.summary).toEqual({ create: 0, update: 0, unchanged: count })
  expect((await server.call('GET', '/rest/jobs/3', { workspace: 2 })).headers.get('etag')).toBe('"1"')
})

test('the plan says what changes and where, and only that is written', async () => {
  const resources = {
    jobs: [
      { _id: 3, ...bodies.jobs, goal: 'Other' },
      { _id: 4, ...bodies.jobs },
    ],
    steps: [{ _id: 3, ...bodies.steps }],
  }
  const plan = [
    { resource: 'steps', _id: 3, action: 'unchanged', changes: [] },
    { resource: 'jobs', _id: 3, action: 'update', changes: ['/goal'] },
    { resource: 'jobs', _id: 4, action: 'create', changes: [] },
  ]
  expect((await load({ version: 1, resources }, { query: '?dryRun=true' })).json.plan).toEqual(plan)
  expect((await load({ version: 1, resources })).json.plan).toEqual(plan)
  expect((await server.call('GET', '/rest/jobs/3')).json.goal).toBe('Other')
  expect((await server.call('GET', '/rest/steps/3')).headers.get('etag')).toBe('"1"')
})

test('what breaks a schema is refused as a whole, with its place', async () => {
  const good = { _id: 50, ...bodies.jobs }
  const error = async (resources: unknown, path: string) => {
    const response = await load({ version: 1, resources })
    expect([response.status, response.json.errors[0].path]).toEqual([422, path])
  }
  await error({ jobs: [good, { ...good, _id: 51, goal: 7 }] }, '/resources/jobs/1/goal')
  await error({ jobs: [good, { ...good, _id: 51, typo: 7 }] }, '/resources/jobs/1')
  await error({ jobs: [good, good] }, '/resources/jobs/1')
  await error({ jobs: [bodies.jobs] }, '/resources/jobs/0/_id')
  await error({ jobs: [{ ...good, key: 'a' }] }, '/resources/jobs/0/key')
  await error({ configs: [{ _id: 50, key: '7', ...bodies.configs }] }, '/resources/configs/0/key')
  await error({ configs: [{ _id: 50, key: 'provider', ...bodies.configs }] }, '/resources/configs/0/key')
  await error({ configs: [{ _id: 3, key: 'new', ...bodies.configs }] }, '/resources/configs/0/key')
  await error({ tasks: [] }, '/resources')
  expect((await load({ resources: {} })).status).toBe(422)
  expect((await load({ version: 2, resources: {} })).status).toBe(422)
  expect((await server.call('GET', '/rest/jobs/50')).status).toBe(404)
})

test('an import with errors in half of it is refused with every error, and applies nothing', async () => {
  const jobs = Array.from({ length: 200 }, (_, at) => ({ _id: 1_000 + at, ...bodies.jobs }))
  const spoilt = jobs.map((job, at) => (at % 2 === 0 ? job : { ...job, goal: at }))
  const bySchema = await load({ version: 1, resources: { jobs: spoilt } })
  expect(bySchema.status).toBe(422)
  expect(bySchema.json.errors.map(({ path }: { path: string }) => path)).toEqual(
    jobs.flatMap((_, at) => (at % 2 === 0 ? [] : [`/resources/jobs/${at}/goal`])),
  )
  const masked = { ...bodies.channels, config: { accessToken: '••••' } }
  const channels = Array.from({ length: 20 }, (_, at) => ({
    _id: 1_000 + at,
    ...(at % 2 === 0 ? bodies.channels : masked),
  }))
  const configs = [{ _id: 1_000, key: 'provider', ...bodies.configs }]
  const byStore = await load({ version: 1, resources: { jobs, channels, configs } })
  expect(byStore.status).toBe(422)
  expect(byStore.json.errors.map(({ path }: { path: string }) => path).toSorted()).toEqual(
    ['/resources/configs/0/key']
      .concat(channels.flatMap((_, at) => (at % 2 ? [`/resources/channels/${at}/config/accessToken`] : [])))
      .toSorted(),
  )
  for (const path of ['jobs/1000', 'channels/1000', 'configs/1000']) {
    expect((await server.call('GET', `/rest/${path}`)).status).toBe(404)
  }
})

test('an import with the same key twice is refused, and applies nothing', async () => {
  const configs = [800, 801].map((_id) => ({ _id, key: 'twice', ...bodies.configs }))
  for (const query of ['', '?dryRun=true']) {
    const { status, json } = await load({ version: 1, resources: { configs } }, { query })
    expect([status, json.errors]).toEqual([
      422,
      [{ path: '/resources/configs/1/key', code: 'repeated', message: 'the key is there already' }],
    ])
  }
  expect((await server.call('GET', '/rest/configs/800')).status).toBe(404)
})

test('an import that would create more than a workspace may have is refused, and applies nothing', async () => {
  const subscriptions = Array.from({ length: definitions.subscriptions.most ?? 0 }, (_, at) => ({
    _id: 100 + at,
    ...bodies.subscriptions,
  }))
  const jobs = [{ _id: 1, ...bodies.jobs }]
  await server.call('PUT', '/rest/subscriptions/1', { body: bodies.subscriptions, workspace: 8 })
  for (const query of ['', '?dryRun=true']) {
    const body = { version: 1, resources: { jobs, subscriptions } }
    const { status, json } = await load(body, { query, workspace: 8 })
    expect([status, json.errors]).toEqual([
      422,
      [expect.objectContaining({ path: '/resources/subscriptions', code: 'too_many' })],
    ])
  }
  expect((await server.call('GET', '/rest/jobs/1', { workspace: 8 })).status).toBe(404)
  const rest = { version: 1, resources: { subscriptions: subscriptions.slice(1) } }
  expect((await load(rest, { workspace: 8 })).status).toBe(200)
})

test("export and import follow the caller's permissions for each resource", async () => {
  expect(Object.keys((await exported(1, 'STEPS')).resources)).toEqual(['steps'])
  const jobs = { version: 1, resources: { jobs: [{ _id: 60, ...bodies.jobs }] } }
  expect((await load(jobs, { role: 'STEPS' })).status).toBe(403)
  expect((await load(jobs, { role: 'VIEWER', query: '?dryRun=true' })).status).toBe(403)
  expect((await load(jobs, { role: 'LOW' })).status).toBe(403)
  const low = { version: 1, resources: { jobs: [{ _id: 2, ...bodies.jobs }] } }
  expect((await load(low, { role: 'LOW' })).status).toBe(200)
  const steps = { version: 1, resources: { steps: [{ _id: 60, ...bodies.steps, job: null, next: null }] } }
  expect((await load(steps, { role: 'STEPS' })).status).toBe(200)
})

test('a thousand documents go out and in again', async () => {
  const jobs = Array.from({ length: 1_000 }, (_, at) => ({ _id: at, ...bodies.jobs }))
  expect((await load({ version: 1, resources: { jobs } }, { workspace: 7 })).json.summary.create).toBe(1_000)
  expect((await exported(7)).resources.jobs).toEqual(jobs)
})

test('export and import refuse unknown query parameters', async () => {
  expect((await server.call('GET', '/rest/export?x=1')).status).toBe(422)
  expect((await server.call('POST', '/rest/export')).status).toBe(405)
  expect((await server.call('GET', '/rest/import')).status).toBe(405)
  expect((await server.call('GET', '/rest/export', { role: 'PROVIDER' })).json).toEqual({
    version: 1,
    resources: {},
  })
})
