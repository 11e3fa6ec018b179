import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { bodies } from './bodies.ts'
import { type ConfigurationServer, startConfiguration } from './configuration-server.ts'

let server: ConfigurationServer
beforeAll(async () => {
  server = await startConfiguration({
    STEPS_ONLY: [
      { schema: "{{resource}} == 'steps' || {{resource}} == 'jobs'", read: 'true', write: 'true' },
    ],
  })
})
afterAll(() => server.close())

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
