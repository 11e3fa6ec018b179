import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

let system: AssistantSystem
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'tried')
  other = await openClinic(system, 'other')
})
beforeEach(() => clinic.script())
afterAll(async () => {
  await clinic.close()
  await other.close()
  await system.close()
})

const call = (name: string, args: object = {}) => ({ calls: [{ name, arguments: args }] })
const person = (text: string) => [{ role: 'person', text }]
const FREE = call('freeTimes', { day: 'Friday' })

async function post(
  path: string,
  body: object,
  of: Clinic = clinic,
): Promise<{ status: number; json: Parsed }> {
  const response = await of.request('POST', path, body)
  return { status: response.status, json: await response.json() }
}
const tried = (body: object) => post('/rest/assistant/1/try', body)
const toolsOf = ({ turns }: Parsed) =>
  turns.flatMap((turn: Parsed) =>
    turn.calls.map(({ tool, result }: Parsed) => [tool, result.state, result.status]),
  )

/** Returns the authorization of a user who reads assistants, messages, threads and the tasks that a rule admits. */
async function roleOf(name: string, tasks: string): Promise<string> {
  const resources = ['assistant', 'messages', 'threads'].map((resource) => ({
    schema: `{{resource}} == '${resource}'`,
    read: '{{account.workspace._id}}',
    write: '',
  }))
  const permissions = [...resources, { schema: "{{resource}} == 'tasks'", read: tasks, write: '' }]
  await clinic.call('POST', '/rest/roles', { name: name.toUpperCase(), permissions })
  const user = { email: `${name}@example.com`, password: 'a long password' }
  await clinic.call('POST', '/rest/users', { name, phone: '2', role: name.toUpperCase(), ...user })
  return `Bearer ${((await post('/api/auth/login', user)).json as { accessToken: string }).accessToken}`
}

describe('POST /rest/assistant/{id}/try', () => {
  test('calls the tools, answers with the turns, and sends nothing to anybody', async () => {
    await clinic.script({ text: 'I look it up.', ...FREE }, call('callback', { message: 'Wait.' }), {
      text: 'At 9.',
    })
    const { status, json } = await tried({ messages: person('When?'), tools: 'call' })
    expect([status, json.state]).toEqual([200, 'done'])
    expect(json.turns.map(({ text }: Parsed) => text)).toEqual(['I look it up.', '', 'At 9.'])
    expect(toolsOf(json)).toEqual([
      ['freeTimes', 'done', 200],
      ['callback', 'done', undefined],
    ])
    expect(json.turns[0]).toMatchObject({ model: 'simulator', inputTokens: expect.any(Number) })
    expect(await clinic.texts()).toEqual([])
    expect(((await clinic.call('GET', '/rest/messages')) as Parsed).data).toEqual([])
  })

  test('with describe calls nothing, and the model is told so', async () => {
    const before = clinic.diary.bookings.length
    const args = { day: 'Friday', time: '9', name: 'Jo' }
    await clinic.script(call('bookAppointment', args), { text: 'Booked, I would say.' })
    const { json } = await tried({ messages: person('Book'), tools: 'describe' })
    expect(json.turns[0].calls[0].args).toEqual(args)
    expect(clinic.diary.bookings).toHaveLength(before)
    const [, second] = await clinic.requests()
    expect(second.messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringContaining('tools are not called'),
    })
  })

  test('gives the model the whole conversation in order, and the tools of the type', async () => {
    const messages = [
      { role: 'user', text: 'Hello' },
      { role: 'assistant', text: 'Hi, I am Ana.' },
      { role: 'person', text: 'Who are you?' },
    ]
    await tried({ messages, tools: 'describe', type: 'chat' })
    const [request] = await clinic.requests()
    const said = request.messages.filter(({ content }: Parsed) => !`${content}`.startsWith('<data>')).slice(1)
    expect(said.map(({ role, content }: Parsed) => [role, content])).toEqual([
      ['user', 'Hello'],
      ['assistant', 'Hi, I am Ana.'],
      ['user', 'Who are you?'],
    ])
    expect(request.tools).toBeUndefined()
  })

  test('ends as a message would where the model does not come to an end, or fails', async () => {
    await clinic.script({ ...FREE, times: 100 })
    const endless = await tried({ messages: person('When?'), tools: 'call' })
    expect(endless.json).toMatchObject({
      state: 'dead',
      reason: expect.stringContaining('8 turns (maxTurns)'),
    })
    expect(endless.json.turns).toHaveLength(8)
    await clinic.script({ error: { status: 401, message: 'Wrong key the-key-of-the-deployment' } })
    const refused = await tried({ messages: person('When?'), tools: 'call' })
    expect(refused.json).toMatchObject({ state: 'dead', turns: [] })
    expect(JSON.stringify(refused.json)).not.toContain('the-key')
  })

  test('is bounded for a workspace whose model hangs, and answers another one at once', async () => {
    await clinic.script({ text: 'At last.', delayMs: 10_000, times: 8 })
    const body = { messages: person('When?'), tools: 'describe' }
    const slow = Array.from({ length: 20 }, () => tried(body))
    // Requests beyond the 8 that run and the 8 that wait are refused.
    expect((await Promise.race(slow)).json).toMatchObject({ code: 'rate_limited' })
    await eventually(async () => (await clinic.requests()).length === 8)
    const began = performance.now()
    const { status, json } = await post('/rest/assistant/1/try', body, other)
    expect([status, json.state]).toEqual([200, 'done'])
    expect(performance.now() - began).toBeLessThan(8_000)
    const statuses = (await Promise.all(slow)).map((one) => one.status)
    expect(statuses.filter((one) => one === 200)).toHaveLength(8)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
  })

  test('shows that it is at work where the model takes long, so that nobody cuts the connection', async () => {
    await clinic.script({ text: 'At last.', delayMs: 6_000 })
    const body = { messages: person('When?'), tools: 'call' }
    const response = await clinic.request('POST', '/rest/assistant/1/try', body)
    const text = await response.text()
    expect(text).toMatch(/^ +{/)
    expect(JSON.parse(text)).toMatchObject({ state: 'done', turns: [{ text: 'At last.' }] })
  })

  test('goes through all steps of a workflow, over several trials, and stores no task', async () => {
    const asked = person('An appointment')
    await clinic.script(
      call('createTask', { workflowName: 'Appointment' }),
      call('setState', { key: 'clinic', value: 'North' }),
      { text: 'Which day?' },
    )
    const first = await tried({ messages: asked })
    expect((await clinic.requests())[1].messages[0].content).toContain('Current step: Find a time')
    const task = { name: 'Appointment', state: { clinic: 'North' } }
    expect(first.json).toMatchObject({ state: 'done', notes: [], task })
    const said = first.json.turns.map(({ text, calls }: Parsed) => ({ role: 'assistant', text, calls }))
    await clinic.script(call('submit', { day: 'Friday' }), { text: 'Whose name?' })
    const next = await tried({ messages: [...asked, ...said, ...person('On Friday')], tools: 'call' })
    expect(next.json.task).toMatchObject(task)
    expect(next.json.task.currentStep).not.toBe(first.json.task.currentStep)
    const [second, third] = await clinic.requests()
    expect(second.messages[0].content).toContain('Current step: Find a time')
    expect(JSON.stringify(second.messages)).toContain('createTask')
    expect(third.messages[0].content).not.toContain('Current step: Find a time')
    expect(JSON.stringify(third.messages)).toContain('submitted')
    expect(((await clinic.call('GET', '/rest/tasks')) as Parsed).data).toEqual([])
  })

  test('for a thread has its person, task and conversation, at another time, and leaves its task as it is', async () => {
    await clinic.script(call('createTask', { workflowName: 'Appointment' }), { text: 'Which day?' })
    const { thread } = await clinic.ask('An appointment')
    const tasks = async () => ((await clinic.call('GET', `/rest/tasks?extId=${thread}`)) as Parsed).data
    const before = await tasks()
    await clinic.script(call('submit', { day: 'Friday' }), { text: 'Done.' })
    const at = '2031-05-06T07:08:00Z'
    await tried({ messages: person('On Friday'), thread, at, user: { name: 'Rosa' } })
    const [request] = await clinic.requests()
    const text = JSON.stringify(request.messages)
    for (const part of ['An appointment', 'Which day?', 'Rosa', '6 May 2031', 'Current step: Find a time'])
      expect(text).toContain(part)
    expect(await tasks()).toEqual(before)
    await clinic.script({ text: 'At 9.' })
    await tried({ messages: person('When?'), task: before[0]._id })
    expect((await clinic.requests())[0].messages[0].content).toContain('Current step: Find a time')
    expect(await tried({ messages: person('When?'), thread: 'nobody' })).toMatchObject({ status: 404 })
  })

  test.each([
    ['without messages', { messages: [], tools: 'call' }],
    ['that ends with the assistant', { messages: [{ role: 'assistant', text: 'Hi' }], tools: 'call' }],
    ['with a system message', { messages: [{ role: 'system', text: 'Obey' }], tools: 'call' }],
    ['with a person who calls', { messages: [{ role: 'person', text: 'Hi', calls: [] }] }],
    ['of an unknown type', { messages: person('Hi'), tools: 'call', type: 'root' }],
    ['with another member', { messages: person('Hi'), tools: 'call', system: 'Obey' }],
  ])('refuses a conversation %s', async (_what, body) => {
    const { status, json } = await tried(body)
    expect([status, json.code]).toEqual([422, 'validation_failed'])
  })

  test('knows no assistant that is not there, and none of another workspace', async () => {
    const body = { messages: person('Hi'), tools: 'call' }
    expect(await post('/rest/assistant/99/try', body)).toMatchObject({ status: 404 })
    expect(await post('/rest/assistant/one/try', body)).toMatchObject({
      status: 400,
      json: { code: 'invalid_id' },
    })
    await other.call('PUT', '/rest/assistant/7', { name: 'B', description: '', backstory: '' })
    expect(await post('/rest/assistant/7/try', body)).toMatchObject({ status: 404 })
  })
})

describe('POST /rest/assistant/{id}/prompt', () => {
  test('shows what the model is given, by both names of the collection', async () => {
    const { status, json } = await post('/rest/assistant/1/prompt', {})
    expect(status).toBe(200)
    expect(json).toMatchObject({ type: 'taskManager', data: { user: {} } })
    expect(json.system).toContain('You are Ana.')
    expect(json.system).toContain('- Appointment (the usual one): Book an appointment')
    expect((await post('/rest/assistants/1/prompt', {})).json.system).toContain('You are Ana.')
  })

  test('shows it for a thread, with its person and its task, and for a task', async () => {
    await clinic.script(call('createTask', { workflowName: 'Appointment' }), { text: 'Which day?' })
    const message = await clinic.ask('An appointment')
    const { json } = await post('/rest/assistant/1/prompt', { thread: message.thread })
    expect(json.data.user).toMatchObject({ name: 'Joana' })
    expect(json.system).toContain('Current step: Find a time')
    const { data } = (await clinic.call('GET', `/rest/tasks?extId=${message.thread}`)) as Parsed
    const ofTask = await post('/rest/assistant/1/prompt', { task: data[0]._id })
    expect(ofTask.json.system).toContain('Current step: Find a time')
    expect(await post('/rest/assistant/1/prompt', { thread: 'nobody' })).toMatchObject({ status: 404 })
    expect(await post('/rest/assistant/1/prompt', { task: 999 })).toMatchObject({ status: 404 })
    expect(await post('/rest/assistant/1/prompt', { task: -1 })).toMatchObject({ status: 404 })
  })

  test('shows the task of a thread, as the thread itself does, to those alone whose role lets them read that task', async () => {
    await clinic.script(call('createTask', { workflowName: 'Appointment' }), { text: 'Which day?' })
    const { thread } = await clinic.ask('An appointment')
    const { data } = (await clinic.call('GET', `/rest/tasks?extId=${thread}`)) as Parsed
    const seenBy = async (name: string, tasks: string) => {
      const authorization = await roleOf(name, tasks)
      const as = async (method: string, path: string, body?: object) =>
        (await clinic.request(method, path, body, { authorization })).json() as Promise<Parsed>
      const { system } = await as('POST', '/rest/assistant/1/prompt', { thread })
      const { task } = await as('GET', `/rest/threads/${thread}`)
      return [system.includes('Current step: Find a time'), task?._id ?? null]
    }
    expect(await seenBy('some', `{{doc._id}} == ${data[0]._id}`)).toEqual([true, data[0]._id])
    expect(await seenBy('others', `{{doc._id}} == ${data[0]._id + 1}`)).toEqual([false, null])
  })

  test('masks secrets, by their names and wherever those of its configs stand', async () => {
    const owned = { owner: 1, ownerType: 'assistant' }
    const credentials = { ...owned, name: 'credentials', value: { apiKey: 'k-12345-secret' } }
    await clinic.call('PUT', '/rest/configs/2', credentials)
    await clinic.call('PATCH', '/rest/assistant/1', { backstory: 'Never say k-12345-secret.' })
    const posted = await clinic.postMessage(
      {
        extId: 'clinic-line',
        user: { name: 'Jo', ctx: { password: 'of-the-person' } },
        thread: { extId: 'secretive' },
        answer: { message: 'Hi' },
      },
      'secretive',
    )
    await posted.body?.cancel()
    await clinic.responded(1)
    const { json } = await post('/rest/assistant/1/prompt', { thread: 'secretive' })
    expect(json.system).toContain('Never say ••••.')
    expect(json.data.user).toEqual({ name: 'Jo', ctx: { password: '••••' } })
    expect(JSON.stringify(json)).not.toMatch(/k-12345|of-the-person/)
  })

  test('shows the whole request of a message before its last answer, and what is missing of its tools', async () => {
    await clinic.script({ text: 'I look it up.', ...FREE }, { text: 'At 9.' })
    const { _id, thread } = await clinic.ask('When is there time?')
    const [, last] = await clinic.requests()
    const { json } = await post('/rest/assistant/1/prompt', { message: _id })
    const spoken = json.conversation.slice(-3)
    expect(spoken.map(({ role, text = '' }: Parsed) => `${role} ${text}`)).toEqual([
      'data ',
      'person When is there time?',
      'assistant I look it up.',
    ])
    expect(spoken[2].calls[0]).toMatchObject({ tool: 'freeTimes', result: { state: 'done' } })
    expect(json.tools.map(({ name }: Parsed) => name)).toEqual(
      last.tools.map((one: Parsed) => one.function.name),
    )
    expect(json.tools.find(({ name }: Parsed) => name === 'freeTimes')).toMatchObject({
      action: 1,
      of: 'freeTimes',
    })
    // A secret that somebody wrote into the backstory is shown masked.
    expect(json.system).toBe(last.messages[0].content.replace('k-12345-secret', '••••'))
    const later = await post('/rest/assistant/1/prompt', { thread })
    expect(later.json.conversation.at(-1)).toMatchObject({ role: 'assistant', text: 'At 9.' })
    const broken = {
      name: 'Broken',
      description: '',
      specType: 'openapi3-yaml',
      moduleUrl: 'native:request',
      spec: '[',
    }
    await clinic.call('PUT', '/rest/actions/9', broken)
    const { actions } = (await clinic.call('GET', '/rest/assistant/1')) as Parsed
    await clinic.call('PATCH', '/rest/assistant/1', { actions: [...actions, 9] })
    expect((await post('/rest/assistant/1/prompt', {})).json.notes).toEqual([
      expect.stringContaining('action 9'),
    ])
    const trial = await tried({ messages: person('Hi') })
    expect(trial.json.notes).toEqual([expect.stringContaining('action 9')])
    await clinic.call('PATCH', '/rest/assistant/1', { actions })
    expect(await post('/rest/assistant/1/prompt', { message: 'nothing' })).toMatchObject({ status: 404 })
  })

  test('shows the summary of what fell out of a thread’s history', async () => {
    await other.script()
    const { data } = (await other.call('GET', '/rest/channels')) as Parsed
    const config = { ...data[0].config, historyLimit: 4, summarise: true }
    await other.call('PATCH', `/rest/channels/${data[0]._id}`, { config })
    const said = ['one', 'two', 'three', 'four', 'five', 'six'].map((word) => `Number ${word}`)
    let thread = ''
    for (const text of said) thread = (await other.ask(text)).thread
    const summaryIn = async () => {
      const { json } = await post('/rest/assistant/1/prompt', { thread }, other)
      return json.conversation.find(
        ({ data: facts }: Parsed) => facts?.summaryOfEarlierMessages !== undefined,
      )
    }
    expect((await eventually(summaryIn)).data.summaryOfEarlierMessages).toMatch(/\S/)
  })

  test('knows none of another workspace', async () => {
    expect(await post('/rest/assistant/7/prompt', {})).toMatchObject({ status: 404 })
    expect(await post('/rest/assistant/7/prompt', {}, other)).toMatchObject({ status: 200 })
  })
})
