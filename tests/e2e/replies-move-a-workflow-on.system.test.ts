import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createParley, type Parley as ParleyClient } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import { eventually } from '@parley/local/testing/service-under-test'
import { type Parley, startParley } from '@parley/local/testing/start-parley'

let system: Parley
let parley: ParleyClient['api']

beforeAll(async () => {
  system = await startParley()
  const body = {
    name: 'Ana Souza',
    email: 'ana@example.com',
    phone: '+5511999990000',
    password: 'correct horse battery staple',
    namespace: 'acme',
  }
  const { accessToken } = await succeeded(
    createParley({ url: system.url }).api.POST('/api/auth/register', { body }),
  )
  parley = createParley({ url: system.url, token: accessToken }).api
  await configure()
})
afterAll(() => system.close(), 60_000)

const at = (id: number) => ({ path: { id } })

/** A channel whose assistant onboards people in two steps. */
async function configure(): Promise<void> {
  const step = { description: '', instructions: '', submitWhen: 'it is known' }
  const put = <T>(call: Parameters<typeof succeeded<T>>[0]) => succeeded<T>(call)
  await put(parley.PUT('/rest/steps/{id}', { params: at(1), body: { ...step, name: 'Name', next: 2 } }))
  await put(parley.PUT('/rest/steps/{id}', { params: at(2), body: { ...step, name: 'Email' } }))
  const workflow = { name: 'Onboarding', description: 'Two steps', steps: [1, 2], firstStep: 1 }
  await put(parley.PUT('/rest/workflows/{id}', { params: at(1), body: workflow }))
  const job = { role: 'Guide', goal: 'Onboard', description: '', defaultWorkflow: 1 }
  await put(parley.PUT('/rest/jobs/{id}', { params: at(1), body: job }))
  const assistant = { name: 'Ana', description: '', backstory: '', job: 1 }
  await put(parley.PUT('/rest/assistant/{id}', { params: at(1), body: assistant }))
  const channel = {
    ...({ name: 'Line', description: '', extId: 'line', hook: 'whatsapp', callback: 'rpc' } as const),
    handlerUrl: 'native:agents/echo',
    config: { assistantId: 1 },
  }
  await put(parley.PUT('/rest/channels/{id}', { params: at(1), body: channel }))
}

async function post(thread: string, submit: Record<string, unknown>, key?: string): Promise<string> {
  const body = { extId: 'line', user: { name: 'João' }, thread: { extId: thread }, answer: { submit } }
  const params = key === undefined ? {} : { header: { 'Idempotency-Key': key } }
  const { response } = await parley.POST('/api/hooks/whatsapp', { body, params })
  expect(response.status).toBe(200)
  return String(response.headers.get('x-message-id'))
}

const tasksOf = async (thread: string) =>
  (await succeeded(parley.GET('/rest/tasks', { params: { query: { extId: thread } } }))).data

const task = (thread: string, status: string, currentStep: number) =>
  eventually(async () => {
    const found = await tasksOf(thread)
    return found.find((each) => each.status === status && each.currentStep === currentStep)
  })

test('what answers submit starts a task, moves it from step to step, and completes it', async () => {
  const first = await post('thread-1', { name: 'João' })
  const started = await task('thread-1', 'active', 2)
  expect(started).toMatchObject({
    workflow: 1,
    name: 'Onboarding',
    context: { steps: { 1: { name: 'João' } } },
  })
  await post('thread-1', { email: 'joao@example.com' }, 'the-second')
  await post('thread-1', { email: 'joao@example.com' }, 'the-second')
  const completed = await task('thread-1', 'completed', 2)
  expect(completed).toMatchObject({
    _id: started._id,
    context: { steps: { 1: { name: 'João' }, 2: { email: 'joao@example.com' } } },
  })
  const params = { path: { id: first } }
  expect((await succeeded(parley.GET('/rest/messages/{id}', { params }))).state).toBe('done')
  expect(await tasksOf('thread-1')).toHaveLength(1)
})

test('the history of the task names the runtime, and a caller may open it again', async () => {
  const [found] = await tasksOf('thread-1')
  const params = at(found?._id ?? 0)
  const reported = await eventually(async () => {
    const { data = [] } = (await parley.GET('/rest/tasks/{id}/history', { params })).data ?? {}
    return data.length === 2 ? data : undefined
  })
  expect(reported.map(({ operation, by }) => [operation, by.username])).toEqual([
    ['updated', 'runtime'],
    ['created', 'runtime'],
  ])
  const set = await parley.PATCH('/rest/tasks/{id}', { params, body: { status: 'cancelled' } })
  expect(set.error?.code).toBe('validation_failed')
  const open = await succeeded(parley.PATCH('/rest/tasks/{id}', { params, body: { status: 'active' } }))
  expect(open.status).toBe('active')
  await post('thread-1', { cancel: true })
  expect((await task('thread-1', 'cancelled', 2))._id).toBe(open._id)
})

test('messages of many threads move each its own task', async () => {
  const threads = Array.from({ length: 20 }, (_, n) => `many-${n}`)
  await Promise.all(threads.map((thread) => post(thread, { name: thread })))
  for (const thread of threads) {
    expect((await task(thread, 'active', 2)).context).toEqual({ steps: { 1: { name: thread } } })
  }
})
