import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TaskOperation } from '@parley/shared/task-operation'
import fc from 'fast-check'
import { bodies } from './bodies.ts'
import { type ConfigurationServer, startConfiguration } from './configuration-server.ts'

let server: ConfigurationServer
let workspace = 0

beforeAll(async () => {
  server = await startConfiguration()
})
afterAll(() => server.close())

const CHANNELS = ['a', 'b', 'c'] as const
let operations = 0

/** Performs an operation of a channel's assistant on the task of its thread. */
async function operate(channel: string | undefined, more: Partial<TaskOperation> = {}) {
  const body = {
    ...{ id: `op-${++operations}`, channelId: 0, assistantId: 1, thread: 'joao', channel, isFirst: true },
    ...{ operation: { kind: 'setState', key: 'at', value: operations }, ...more },
  }
  const path = `/internal/workspaces/${workspace}/tasks/operations`
  return (await server.callAs('dispatcher', path, { method: 'POST', body })).json as { state: string }
}

const put = (id: number, more: object = {}) =>
  server.call('PUT', `/rest/tasks/${id}`, {
    body: { ...bodies.tasks, extId: 'joao', status: 'active', context: {}, ...more },
    workspace,
  })
const read = async (id: number) => (await server.call('GET', `/rest/tasks/${id}`, { workspace })).json

async function fresh(): Promise<void> {
  workspace++
  const make = (resource: string, id: number, body: object) =>
    server.call('PUT', `/rest/${resource}/${id}`, { body, workspace })
  await make('workflows', 1, { name: 'W', description: '', firstStep: 1, steps: [1] })
  await make('steps', 1, { name: 'one', description: '', instructions: '', submitWhen: '' })
  await make('jobs', 1, { role: '', goal: '', description: '', defaultWorkflow: 1 })
  await make('assistant', 1, { name: '', description: '', backstory: '', job: 1 })
  for (const [at, extId] of CHANNELS.entries()) await make('channels', at + 1, { ...bodies.channels, extId })
}

describe('a task', () => {
  test('is the channel’s whose thread uses it first, from then on', async () => {
    await fresh()
    await put(1)
    expect((await read(1)).channel).toBeUndefined()
    expect(await operate('a')).toMatchObject({ state: 'done' })
    expect(await read(1)).toMatchObject({ channel: 'a', context: { state: {} } })
    const before = await read(1)
    expect(await operate('b')).toMatchObject({ state: 'failed' })
    expect(await operate('b', { operation: { kind: 'cancelTask' } })).toMatchObject({ state: 'failed' })
    expect(await read(1)).toEqual(before)
    await put(1, { name: 'again', channel: 'b' })
    expect(await read(1)).toMatchObject({ name: 'again', channel: 'a' })
    await put(1, { extId: 'maria' })
    expect((await read(1)).channel).toBeUndefined()
  })

  test('that no channel has used is of no thread that took the name later', async () => {
    await fresh()
    await put(1)
    expect(await operate('b', { isFirst: false })).toMatchObject({ state: 'failed' })
    expect((await read(1)).channel).toBeUndefined()
    const started = { kind: 'createTask', workflow: 'W' } as const
    expect(await operate('b', { isFirst: false, operation: started })).toMatchObject({ state: 'done' })
    expect(await operate('a')).toMatchObject({ state: 'done' })
    expect((await read(1)).channel).toBe('a')
    const { data } = (await server.call('GET', '/rest/tasks', { workspace })).json
    expect(data.map(({ channel }: { channel: string }) => channel)).toEqual(['a', 'b'])
  })

  test('is found by an earlier release, which names its channel by the id alone', async () => {
    await fresh()
    await put(1)
    expect(await operate(undefined, { channelId: 2, isFirst: undefined })).toMatchObject({ state: 'done' })
    expect((await read(1)).channel).toBe('b')
    expect(await operate(undefined, { channelId: 1, isFirst: undefined })).toMatchObject({ state: 'failed' })
    const path = `/internal/workspaces/${workspace}/tasks?thread=joao`
    expect((await server.callAs('dispatcher', path)).json).toMatchObject({ _id: 1, channel: 'b' })
  })

  test('is erased with the thread of its channel alone, where it is among those that may be', async () => {
    await fresh()
    for (const [id, channel] of [
      [1, 'a'],
      [2, 'b'],
    ] as const) {
      await put(id, { context: { secret: channel } })
      await operate(channel)
    }
    const erase = (body: object) =>
      server.callAs('dispatcher', `/internal/workspaces/${workspace}/tasks/erase`, { method: 'POST', body })
    const idsOf = async (channel: string, isFirst: boolean) => {
      const path = `/internal/workspaces/${workspace}/tasks/of-thread?thread=joao&channel=${channel}&isFirst=${isFirst}`
      const { data } = (await server.callAs('dispatcher', path)).json
      return data.map(({ _id }: { _id: number }) => _id)
    }
    expect([await idsOf('a', true), await idsOf('b', false), await idsOf('c', true)]).toEqual([[1], [2], []])
    await erase({ thread: 'joao', channel: 'b', isFirst: false, ids: [1] })
    expect((await read(2)).context.secret).toBe('b')
    await erase({ thread: 'joao', channel: 'b', isFirst: false, ids: [1, 2] })
    expect([(await read(1)).context.secret, (await read(2)).context]).toEqual(['a', {}])
    expect((await read(2)).channel).toBe('b')
  })
})

test('of channels that use one task at once one has it, and whoever has it keeps it', async () => {
  const use = fc.constantFrom(...CHANNELS)
  const rounds = fc.array(fc.array(use, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(rounds, async (given) => {
      await fresh()
      await put(1)
      let owner: string | undefined
      for (const round of given) {
        const results = await Promise.all(
          round.map(async (channel) => ({ channel, ...(await operate(channel)) })),
        )
        const { channel } = await read(1)
        expect(round.concat(owner === undefined ? [] : [owner as 'a'])).toContain(channel)
        expect(channel).toBe(owner ?? channel)
        owner = channel
        for (const one of results) expect(one.state).toBe(one.channel === owner ? 'done' : 'failed')
      }
    }),
    { numRuns: 8 },
  )
})
