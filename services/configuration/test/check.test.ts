import { expect, test } from '@jest/globals'
import { longestTurn } from '@parley/local/testing/longest-turn'
import { loadStepGraph } from '../src/check/check-steps.ts'
import type { Finding } from '../src/check/finding.ts'
import type { Database } from '../src/store/database.ts'
import { bodies } from './bodies.ts'
import { configurationForTests } from './configuration-server.ts'
import { eventually } from './eventually.ts'

const server = configurationForTests({
  roles: {
    JOBS: [{ schema: "{{resource}} == 'jobs'", read: 'true', write: '' }],
    HIGHER: [{ schema: 'true', read: '{{doc._id}} > 1', write: '' }],
  },
})

const putter = (workspace: number) => async (path: string, body: unknown) =>
  expect((await server.call('PUT', `/rest/${path}`, { body, workspace })).status).toBe(200)

/** All findings. What there was no time to read, a further check goes on with. */
async function check(workspace: number, role = 'WORKSPACE_ADMIN'): Promise<Finding[]> {
  return eventually(
    () => checkOnce(workspace, role),
    (found) => !found.some(({ code }) => code === 'not_checked'),
  )
}

async function checkOnce(workspace: number, role: string): Promise<Finding[]> {
  const found: Finding[] = []
  let after = ''
  for (let page = 0; page < 20; page++) {
    const { status, json } = await server.call('GET', `/rest/check${after}`, { workspace, role })
    expect(status).toBe(200)
    found.push(...json.data)
    if (json.next === null) return found
    after = `?after=${json.next}`
  }
  throw new Error('the check does not end')
}

/** The settings that the callback of the example needs. */
const complete = { callbackUrl: 'https://example.com/callback' }

const short = (findings: Finding[]) =>
  findings.map(({ code, resource, _id, path }) => `${code} ${resource}/${_id}${path}`)

test('a sound configuration has no findings', async () => {
  const put = putter(1)
  await put('actions/1', bodies.actions)
  await put('jobs/1', { ...bodies.jobs, actions: [1], defaultWorkflow: 1 })
  await put('steps/1', { ...bodies.steps, job: 1, next: 2 })
  await put('steps/2', { ...bodies.steps, job: null, next: null })
  await put('workflows/1', { ...bodies.workflows, steps: [1, 2], firstStep: 1 })
  await put('configs/1', { ...bodies.configs, value: { provider: 'openai', model: 'x' } })
  await put('assistant/1', { ...bodies.assistant, actions: [1], configs: [1], job: 1 })
  await put('channels/1', { ...bodies.channels, config: { ...complete, assistantId: 1 } })
  await put('tasks/1', { ...bodies.tasks, workflow: 1, currentStep: 2 })
  expect(await check(1)).toEqual([])
})

test('settings that nobody reads are named with the nearest name, and time zones that nobody knows', async () => {
  const put = putter(31)
  await put('assistant/1', { ...bodies.assistant, actions: [], configs: [], job: null })
  const config = {
    ...complete,
    assistantId: 1,
    fallbackMesage: 'x',
    historytokens: 9,
    extra: { a: 1 },
    timeZone: 'Sao_Paulo',
  }
  await put('channels/1', { ...bodies.channels, config })
  const owned = { owner: 1, ownerType: 'assistant' }
  const fallbacks = [{ provider: 'openai', model: 'm', baseurl: 'https://example.com' }]
  const value = { provider: 'openai', model: 'm', max_output_tokens: 5, colour: 'red', fallbacks }
  await put('configs/1', { ...owned, name: 'model', value })
  await put('configs/2', { ...owned, name: 'modle', value: {} })
  await put('configs/3', { ...owned, name: 'opening-hours', value: { monday: 1 } })
  const ofAction = { owner: 1, ownerType: 'action', name: 'calls' }
  await put('configs/4', { ...ofAction, value: { timeoutSecond: 20, signedContext: true, colour: 1 } })
  await put('configs/5', { ...ofAction, name: 'time', value: { timeoutSeconds: 500 } })
  const found = (await check(31)).filter(({ code }) => code === 'unknown_setting')
  expect(found.map(({ resource, _id, path, message }) => `${resource}/${_id}${path} ${message}`)).toEqual([
    'channels/1/config/fallbackMesage nothing reads "fallbackMesage"; is fallbackMessage meant?',
    'channels/1/config/historytokens nothing reads "historytokens"; is historyTokens meant?',
    'channels/1/config/timeZone there is no time zone "Sao_Paulo": UTC is taken; is America/Sao_Paulo meant?',
    'configs/1/value/max_output_tokens nothing reads "max_output_tokens"; is maxOutputTokens meant?',
    'configs/1/value/colour nothing reads "colour"',
    'configs/1/value/fallbacks/0/baseurl nothing reads "baseurl"; is baseUrl meant?',
    'configs/2/name nothing reads "modle"; is model meant?',
    'configs/4/value/timeoutSecond nothing reads "timeoutSecond"; is timeoutSeconds meant?',
    'configs/5/value/timeoutSeconds is not a number of 1 to 120: the nearest is taken, or 15 where it is none',
  ])
})

test('a config is not put again for another assistant, whose model it would take away', async () => {
  const put = putter(32)
  for (const id of [1, 2])
    await put(`assistant/${id}`, { ...bodies.assistant, actions: [], configs: [], job: null })
  const model = (owner: number) => ({
    ...{ name: 'model', owner, ownerType: 'assistant', value: { provider: 'openai', model: 'm' } },
  })
  await put('configs/model', model(1))
  const taken = await server.call('PUT', '/rest/configs/model', { body: model(2), workspace: 32 })
  expect(taken).toMatchObject({
    status: 422,
    json: { errors: [{ path: '/owner', code: 'owned_by_another' }] },
  })
  await put('configs/model', model(1))
  await put('configs/model-2', model(2))
  expect((await server.call('DELETE', '/rest/configs/model', { workspace: 32 })).status).toBeLessThan(300)
  await put('configs/model', model(2))
})

test("dangling references are named with their place, another workspace's documents do not mend them", async () => {
  const put = putter(2)
  await put('assistant/5', { ...bodies.assistant, actions: [1, 7], configs: null, job: null })
  await put('actions/7', bodies.actions)
  await put('channels/5', { ...bodies.channels, config: { ...complete, assistantId: 1 } })
  expect(short(await check(2))).toEqual([
    'dangling_reference channels/5/config/assistantId',
    'dangling_reference assistant/5/actions/0',
  ])
})

test('the check finds unreachable steps and cycles of steps', async () => {
  const put = putter(3)
  const step = { ...bodies.steps, job: null }
  for (const [id, next] of [
    [1, 2],
    [2, 3],
    [3, 2],
    [4, null],
    [5, 5],
    [6, null],
  ] as const) {
    await put(`steps/${id}`, { ...step, next })
  }
  await put('workflows/1', { ...bodies.workflows, steps: [1, 2, 6], firstStep: 1 })
  const findings = await check(3)
  expect(short(findings)).toEqual([
    'step_cycle steps/2/next',
    'unreachable_step steps/4',
    'unreachable_step steps/5',
    'step_cycle steps/5/next',
    'unreachable_step workflows/1/steps/2',
  ])
  expect(findings[0]?.message).toBe('the steps come round: 2 → 3 → 2')
})

test('the check finds specs and handlers that cannot be understood', async () => {
  const put = putter(4)
  const action = bodies.actions
  await put('actions/1', { ...action, spec: 'openapi: "3.1.0"\npaths: {}\n' })
  await put('actions/2', { ...action, spec: 'a: [unclosed' })
  await put('actions/3', { ...action, spec: 'openapi: 2.0\npaths: {}' })
  await put('actions/4', { ...action, spec: 'just text' })
  await put('actions/5', { ...action, spec: 'openapi: 3.0.0' })
  await put('actions/6', { ...action, specType: 'wsdl', moduleUrl: 'ftp://example.com/x' })
  await put('actions/7', { ...action, spec: `openapi: 3.0.0\npaths: {}\nx: ${'y'.repeat(600_000)}` })
  const bomb =
    'a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c]'
  await put('actions/8', { ...action, spec: bomb })
  expect((await server.call('GET', '/rest/actions/8', { workspace: 4 })).json.spec).toBe(bomb)
  await put('actions/9', { ...action, spec: 'openapi: 3.0.0\npaths: &none {}\nx-same: *none\n' })
  await put('channels/1', { ...bodies.channels, config: complete, handlerUrl: 'native:other' })
  expect(short(await check(4))).toEqual([
    'bad_handler channels/1/handlerUrl',
    'bad_spec actions/2/spec',
    'bad_spec actions/3/spec',
    'bad_spec actions/4/spec',
    'bad_spec actions/5/spec',
    'bad_handler actions/6/moduleUrl',
    'bad_spec actions/6/specType',
    'bad_spec actions/8/spec',
  ])
})

test('specs are read outside of the event loop, and what costs too much is named with the reason', async () => {
  const put = putter(12)
  const bomb = Array.from({ length: 9 }, (_, n) => {
    const item = n === 0 ? '"lollollol"' : `*b${n - 1}`
    return `b${n}: &b${n} [${Array(9).fill(item).join(',')}]`
  })
  const sound = 'openapi: 3.1.0\npaths: {}\n'
  await put('actions/1', { ...bodies.actions, spec: sound + bomb.join('\n') })
  await put('actions/2', { ...bodies.actions, spec: '---\n'.repeat(131_071) })
  for (const id of [3, 4, 5])
    await put(`actions/${id}`, { ...bodies.actions, spec: `${sound}x: [${`"${id}", `.repeat(90_000)}]` })
  let findings: Finding[] = []
  const longest = await longestTurn(async () => {
    findings = await check(12)
  })
  expect(longest).toBeLessThan(500)
  expect(findings.map(({ _id, code, message }) => [_id, code, message])).toEqual([
    [1, 'bad_spec', 'expands to more than 250000 nodes'],
    [2, 'bad_spec', 'there is more than one document'],
  ])
  await put('actions/1', { ...bodies.actions, spec: sound })
  expect((await check(12)).filter(({ _id }) => _id === 1)).toEqual([])
})

test('the check knows MCP servers and the built-in agents', async () => {
  const put = putter(9)
  const mcp = { ...bodies.actions, specType: 'mcp', spec: '' }
  await put('actions/1', { ...mcp, moduleUrl: 'https://mcp.example.com/mcp' })
  await put('actions/2', { ...mcp, moduleUrl: 'native:request' })
  const types = ['echo', 'transcriber', 'oracle', '']
  for (const [n, type] of types.entries())
    await put(`channels/${n + 1}`, {
      ...bodies.channels,
      config: complete,
      extId: `c${n}`,
      handlerUrl: `native:agents/${type}`,
    })
  const findings = await check(9)
  expect(short(findings)).toEqual([
    'unknown_agent channels/3/handlerUrl',
    'bad_handler channels/4/handlerUrl',
    'bad_handler actions/2/moduleUrl',
  ])
  expect(findings[0]?.message).toContain('echo, chat, functionCall, taskManager, transcriber')
})

test('the check names built-in agents that there are none of, what a channel lacks for its agent and callback, and what will not go on', async () => {
  const put = putter(7)
  const channel = { ...bodies.channels, config: {}, handlerUrl: 'https://example.com/handler' }
  await put('channels/1', { ...channel, extId: '1', callback: 'whatsapp', handlerUrl: 'native:agents/eco' })
  await put('channels/2', { ...channel, extId: '2' })
  await put('channels/3', { ...channel, extId: '3', handlerUrl: 'native:agents/chat', config: complete })
  await put('channels/4', { ...channel, extId: '4', handlerUrl: 'native:agents/echo', config: complete })
  const sealed = { phoneNumberId: '1', accessToken: 'secret' }
  await put('channels/5', { ...channel, extId: '5', callback: 'whatsapp', config: sealed })
  const ended = { ...sealed, apiUrl: 'https://graph.facebook.com/v17.0' }
  await put('channels/6', { ...channel, extId: '6', callback: 'whatsapp', config: ended })
  await put('channels/7', {
    ...{ ...channel, extId: '7', callback: 'whatsapp' },
    config: { ...sealed, apiVersion: 'v17.0' },
  })
  const findings = await check(7)
  expect(short(findings)).toEqual([
    'unknown_agent channels/1/handlerUrl',
    'incomplete_channel channels/1/config/phoneNumberId',
    'incomplete_channel channels/1/config/accessToken',
    'incomplete_channel channels/2/config/callbackUrl',
    'incomplete_channel channels/3/config/assistantId',
    'ending_soon channels/6/config/apiUrl',
    'ending_soon channels/7/config/apiVersion',
  ])
  expect(findings.at(-1)?.message).toContain('v17.0')
  expect(findings[0]?.message).toContain('echo, chat, functionCall')
})

test('the check finds channels and active tasks that another one with the same extId precedes', async () => {
  const put = putter(5)
  const channel = {
    ...{ ...bodies.channels, config: complete },
    ...{ extId: 'x'.repeat(200), handlerUrl: 'native:agents/echo' },
  }
  await put('channels/1', { ...channel, hook: 'rpc' })
  await put('channels/2', channel)
  await put('channels/3', channel)
  await put('channels/4', { ...channel, extId: `${'x'.repeat(199)}y` })
  await put('steps/1', { ...bodies.steps, job: null, next: null })
  await put('workflows/1', { ...bodies.workflows, steps: [1], firstStep: 1 })
  const task = { ...bodies.tasks, workflow: 1, currentStep: 1 }
  await put('tasks/1', { ...task, status: 'failed' })
  await put('tasks/2', task)
  await put('tasks/3', task)
  await put('tasks/4', { ...task, extId: null })
  await put('tasks/5', { ...task, extId: null })
  const findings = await check(5)
  expect(short(findings)).toEqual(['shadowed channels/3/extId', 'shadowed tasks/3/extId'])
  expect(findings[1]?.message).toContain('tasks/2')
})

test('what comes before a channel or a task is named to those only who can read it', async () => {
  const put = putter(11)
  for (const id of [1, 2, 3]) {
    await put(`channels/${id}`, { ...bodies.channels, config: complete })
    await put(`tasks/${id}`, bodies.tasks)
  }
  const shadowed = async (role: string) =>
    (await check(11, role))
      .filter(({ code }) => code === 'shadowed')
      .map(({ resource, _id, message }) => [`${resource}/${_id}`, message.split(' ')[0]])
  expect(await shadowed('HIGHER')).toEqual([
    ['channels/3', 'channels/2'],
    ['tasks/3', 'tasks/2'],
  ])
  expect((await shadowed('WORKSPACE_ADMIN')).map(([, before]) => before)).toEqual([
    ...['channels/1', 'channels/1', 'tasks/1', 'tasks/1'],
  ])
})

test('the check is paged, and shows each caller only what the caller can read', async () => {
  const put = putter(6)
  for (let id = 1; id <= 12; id++) {
    const actions = Array.from({ length: 100 }, (_, at) => id * 1_000 + at)
    await put(`assistant/${id}`, { ...bodies.assistant, actions, configs: null, job: null })
    await put(`jobs/${id}`, { ...bodies.jobs, actions, defaultWorkflow: null })
  }
  const all = await check(6)
  expect(all).toHaveLength(2_400)
  expect(new Set(short(all)).size).toBe(2_400)
  const jobs = await check(6, 'JOBS')
  expect(jobs).toHaveLength(1_200)
  expect(new Set(jobs.map(({ resource }) => resource))).toEqual(new Set(['jobs']))
  expect(await check(6, 'PROVIDER')).toEqual([])
  for (const after of ['x', Buffer.from('["check","nothing",1]').toString('base64url')]) {
    expect((await server.call('GET', `/rest/check?after=${after}`)).status).toBe(422)
  }
})

test('the check remembers the steps that are there, however many others workflows list', async () => {
  const put = putter(10)
  await put('steps/1', { ...bodies.steps, job: null, next: 7_777 })
  await put('steps/2', { ...bodies.steps, job: null, next: null })
  const missing = Array.from({ length: 1_000 }, (_, at) => 1_000 + at)
  await put('workflows/1', { ...bodies.workflows, steps: [1, ...missing], firstStep: 1 })
  const database = { documents: (name: string) => server.database.collection(name) } as unknown as Database
  const { entered, next } = await loadStepGraph(database, 10)
  expect([[...entered], next.size]).toEqual([[1], 2])
  expect(short(await check(10))).toContain('unreachable_step steps/2')
})

test('the check says in the language that is asked for what is wrong', async () => {
  const put = putter(41)
  await put('jobs/1', { ...bodies.jobs, actions: [7], defaultWorkflow: null })
  await put('channels/1', {
    ...{ ...bodies.channels, handlerUrl: 'native:agents/echo' },
    config: { ...complete, timeZone: 'Americas/Sao_Paulo' },
  })
  const asked = async (language: string) => {
    const headers = { 'accept-language': language }
    const { json, headers: received } = await server.call('GET', '/rest/check', { workspace: 41, headers })
    const messages = (json.data as Finding[]).map(({ message }) => message).toSorted()
    return { messages, language: received.get('content-language'), vary: received.get('vary') }
  }
  expect(await asked('de')).toMatchObject({
    messages: [
      'there is no actions/7',
      'there is no time zone "Americas/Sao_Paulo": UTC is taken; is America/Sao_Paulo meant?',
    ],
    language: 'en',
  })
  expect(await asked('pt')).toEqual({
    messages: [
      'actions/7 não existe',
      'o fuso horário "Americas/Sao_Paulo" não existe: usa-se UTC; seria America/Sao_Paulo?',
    ],
    language: 'pt-BR',
    vary: expect.stringContaining('Accept-Language'),
  })
})
