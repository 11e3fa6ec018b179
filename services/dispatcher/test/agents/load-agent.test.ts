import { describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import { AGENT_KINDS } from '../../src/agents/kinds/kinds.ts'
import { createLoadAgent } from '../../src/agents/load-agent.ts'
import { channel, documentsOf, secrets } from '../agent-world.ts'

const text = {
  name: '',
  description: '',
  backstory: '',
  role: '',
  goal: '',
  instructions: '',
  submitWhen: '',
}
const config = (name: string, value: object, owner: number, ownerType: string) => ({
  name,
  value,
  owner,
  ownerType,
})
const action = { name: 'a', description: '', specType: 'mcp', moduleUrl: 'http://x', spec: '' }
const world = () => ({
  assistant: { 1: { ...text, name: 'Ana', actions: [1, 2], configs: [7], job: 1 } },
  jobs: {
    1: { ...text, role: 'Seller', actions: [2, 3], defaultWorkflow: 1 },
    2: { ...text, role: 'Advisor', actions: [4] },
  },
  actions: { 1: action, 2: action, 3: action, 4: action },
  steps: {
    1: { ...text, name: 'Ask', next: 2, job: 2 },
    2: { ...text, name: 'Order' },
  },
  workflows: {
    1: { ...text, name: 'Sale', steps: [1, 2], firstStep: 1 },
    2: { ...text, name: 'Return', firstStep: 2 },
  },
  configs: {
    7: config('model', { provider: 'openai', model: 'named' }, 9, 'other'),
    8: config('model', { provider: 'openai', model: 'owned' }, 1, 'assistant'),
    9: config('credentials', { apiKey: 'k-assistant' }, 1, 'assistant'),
    10: config('credentials', { token: 'k-action' }, 3, 'action'),
    11: config('workflows', { ids: [2, 1, 99] }, 1, 'assistant'),
  },
})
const task = {
  _id: 5,
  version: 3,
  name: 'Sale',
  workflow: 1,
  currentStep: 1,
  context: { state: { size: 42, password: 'sealed:k:abc' } },
}
const loading = (
  given: ReturnType<typeof world> | Record<string, Record<number, JsonObject>>,
  active?: object,
) => {
  const asked: string[] = []
  const configuration = {
    get: async (path: string) => {
      asked.push(path)
      return active
    },
  }
  return {
    load: createLoadAgent({
      replica: documentsOf(given),
      secrets,
      configuration,
      isFirstOfName: async () => true,
    }),
    asked,
  }
}
const found = async (
  given: Parameters<typeof loading>[0],
  {
    type = 'taskManager' as 'chat' | 'functionCall' | 'taskManager',
    active = undefined as object | undefined,
  } = {},
) => {
  const loaded = await loading(given, active).load({ channel, kind: AGENT_KINDS[type], thread: 'thread 1' })
  if (loaded.kind === 'missing') throw new Error(loaded.reason)
  return loaded.agent
}

describe('an agent', () => {
  test('has its assistant, the job of the current step, and the actions of all three, each once and in order', async () => {
    const agent = await found(world(), { active: task })
    expect(agent.assistant).toEqual({ _id: 1, name: 'Ana', description: '', backstory: '' })
    expect(agent.job).toMatchObject({ _id: 2, role: 'Advisor' })
    expect(agent.actions.map(({ _id }) => _id)).toEqual([1, 2, 3, 4])
    expect((await found(world())).actions.map(({ _id }) => _id)).toEqual([1, 2, 3])
  })

  test('has the configs that the assistant names before those that it owns, opened, and those of each action', async () => {
    const agent = await found(world())
    expect(agent.configs.get('model')).toMatchObject({ model: 'named' })
    expect(agent.configs.get('credentials')).toEqual({ apiKey: 'k-assistant' })
    expect(agent.actions.map(({ configs }) => configs.get('credentials'))).toEqual([
      undefined,
      undefined,
      { token: 'k-action' },
    ])
  })

  test('has the active task of its thread, read fresh, with step, steps and state, secrets masked', async () => {
    const { load, asked } = loading(world(), task)
    const loaded = await load({ channel, kind: AGENT_KINDS.taskManager, thread: 'thread 1' })
    expect(asked).toEqual(['/internal/workspaces/1/tasks?thread=thread+1'])
    expect(loaded).toMatchObject({
      agent: {
        task: {
          _id: 5,
          workflow: { _id: 1, name: 'Sale' },
          step: { _id: 1, name: 'Ask' },
          steps: ['Ask', 'Order'],
          state: { size: 42, password: '••••' },
        },
      },
    })
  })

  test('has the task also when it was just started, and has no context', async () => {
    const { context, ...started } = task
    const agent = await found(world(), { active: started })
    expect(agent.task).toMatchObject({ _id: 5, state: {}, step: { name: 'Ask' } })
  })

  test('may start the default workflow and those of its config, once each', async () => {
    expect((await found(world())).workflows).toEqual([
      { _id: 1, name: 'Sale', description: '', isDefault: true, firstStep: 1 },
      { _id: 2, name: 'Return', description: '', isDefault: false, firstStep: 2 },
    ])
  })

  test('asks for no task unless it is a task manager', async () => {
    const { load, asked } = loading(world(), task)
    const loaded = await load({ channel, kind: AGENT_KINDS.functionCall, thread: 't' })
    expect(asked).toEqual([])
    expect(loaded).toMatchObject({ agent: { workflows: [], job: { role: 'Seller' } } })
  })

  test('has 100 actions at most', async () => {
    const given = world()
    const many = Array.from({ length: 150 }, (_, n) => n + 1)
    const agent = await found({
      ...given,
      assistant: { 1: { ...text, actions: many } },
      actions: Object.fromEntries(many.map((id) => [id, action])),
    })
    expect(agent.actions.length).toBe(100)
  })
})

describe('what was deleted in the middle of a conversation', () => {
  test('the assistant: the agent is missing, and it is said which one', async () => {
    const { assistant, ...rest } = world()
    expect(await loading(rest).load({ channel, kind: AGENT_KINDS.chat, thread: 't' })).toEqual({
      kind: 'missing',
      reason: 'There is no assistant 1, which the channel names.',
    })
    const nameless = { ...channel, config: {} }
    expect(
      await loading(world()).load({ channel: nameless as never, kind: AGENT_KINDS.chat, thread: 't' }),
    ).toEqual({
      kind: 'missing',
      reason: 'The channel names no assistant in config.assistantId.',
    })
  })

  test('jobs, actions and configs are left out', async () => {
    const { jobs, actions, configs, ...rest } = world()
    const agent = await found(rest, { active: task })
    expect([agent.job, agent.actions, agent.configs.size, agent.workflows]).toEqual([undefined, [], 0, []])
  })

  test("the step: the task has none, and the assistant's job counts", async () => {
    const agent = await found({ ...world(), steps: {} }, { active: task })
    expect([agent.task?.step, agent.task?.steps, agent.job?.role]).toEqual([undefined, [], 'Seller'])
  })

  test('the workflow: the task says that it was deleted', async () => {
    const agent = await found({ ...world(), workflows: {} }, { active: task })
    expect(agent.task?.workflow).toMatchObject({
      name: '(deleted)',
      description: expect.stringContaining('deleted'),
    })
    expect(agent.task?.step?.name).toBe('Ask')
  })
})

test('steps that only lead to one another are named in their order, and a circle of them ends', async () => {
  const given = world()
  given.workflows[1] = { ...text, name: 'Sale', firstStep: 1 } as never
  given.steps[2] = { ...text, name: 'Order', next: 1 } as never
  expect((await found(given, { active: task })).task?.steps).toEqual(['Ask', 'Order'])
})

test('what is unavailable is not taken for deleted', async () => {
  const unavailable = async () => {
    throw new Error('unavailable')
  }
  const fails = createLoadAgent({
    replica: { find: unavailable },
    secrets,
    configuration: { get: unavailable },
    isFirstOfName: async () => true,
  })
  await expect(fails({ channel, kind: AGENT_KINDS.chat, thread: 't' })).rejects.toThrow('unavailable')
  const noTask = createLoadAgent({
    replica: documentsOf(world()),
    secrets,
    configuration: { get: unavailable },
    isFirstOfName: async () => true,
  })
  await expect(noTask({ channel, kind: AGENT_KINDS.taskManager, thread: 't' })).rejects.toThrow('unavailable')
})
