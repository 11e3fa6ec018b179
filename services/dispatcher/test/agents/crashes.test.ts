import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import type { ModelRequest } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn, toolCall } from './agent-system.ts'

const line = agentLine()
const done = { kind: 'answered', result: { state: 'done', text: 'ok' } } as const

describe('when the instance dies', () => {
  test('while a model is asked, the next one asks it again', async () => {
    let asked = 0
    const system = line.start({
      model: () => (++asked === 1 ? new Promise<string>(() => {}) : 'Here.'),
    })
    system.publish('asked')
    await eventually(async () => asked === 1)
    await system.until('asked', ({ open }) => open === true)
    await system.kill()
    await system.until('asked')
    expect([asked, system.sent.length]).toEqual([2, 1])
  })

  test('while a tool runs, the next one calls it again under the same id, and asks no model for that turn', async () => {
    let asked = 0
    const ids: string[] = []
    const system = line.start({
      model: () => (++asked === 1 ? modelTurn('Wait.', [toolCall('note')]) : 'Here.'),
      open: () => ({
        kind: 'call',
        deliver: async (id) => {
          ids.push(id)
          return ids.length === 1 ? new Promise(() => {}) : done
        },
      }),
    })
    system.publish('tool')
    await eventually(async () => ids.length === 1)
    await system.kill()
    await system.until('tool')
    expect([asked, ids, system.sent.map(({ text }) => text)]).toEqual([
      2,
      ['tool:1', 'tool:1'],
      ['Wait.', 'Here.'],
    ])
  })
})

describe('when the partition goes to another instance', () => {
  test('the calls of models that end in time are stored by the old one, and no other is begun there', async () => {
    const said = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
    let asked = 0
    const system = line.start({ drainMs: 20_000, model: () => said[asked++]?.promise ?? 'Too many.' })
    system.publish('drained', { thread: 'drained' })
    await eventually(async () => asked === 1)
    const handedOver = system.handOver()
    system.publish('late', { thread: 'late' })
    await system.until('late', ({ open }) => open === true)
    expect(asked).toBe(1)
    said[0]?.resolve('The first.')
    said[1]?.resolve('The second.')
    await handedOver
    const [drained, late] = [await system.until('drained'), await system.until('late')]
    expect([asked, drained.turns?.[0]?.text, late.turns?.[0]?.text]).toEqual([2, 'The first.', 'The second.'])
  })

  test('the calls of models that take longer are aborted, and what they answer is dropped', async () => {
    const signals: AbortSignal[] = []
    const first = Promise.withResolvers<string>()
    const system = line.start({
      model: ({ signal }) => {
        signals.push(signal)
        return signals.length === 1 ? first.promise : 'The second.'
      },
    })
    system.publish('moved')
    await eventually(async () => signals.length === 1)
    await system.handOver()
    expect(signals[0]?.aborted).toBe(true)
    first.resolve('The first.')
    await system.until('moved')
    expect(system.sent).toEqual([{ id: 'moved:0', text: 'The second.' }])
  })

  test('unnoticed, what the old one is answered is not stored', async () => {
    let asked = 0
    const first = Promise.withResolvers<string>()
    const system = line.start({ model: () => (++asked === 1 ? first.promise : 'The second.') })
    system.publish('taken')
    await eventually(async () => asked === 1)
    await system.until('taken', ({ open }) => open === true)
    system.loseLease(200)
    first.resolve('The first.')
    const record = await system.until('taken')
    expect([record.turns?.map(({ text }) => text), system.sent.length]).toEqual([['The second.'], 1])
  })
})

test('what the provider says of an earlier send meanwhile costs no further call of the model', async () => {
  let asked = 0
  const second = Promise.withResolvers<string>()
  const system = line.start({
    model: () => (++asked === 1 ? modelTurn('One.', [toolCall('note')]) : second.promise),
    open: () => ({ kind: 'call', deliver: async () => done }),
  })
  system.publish('status')
  await eventually(async () => asked === 2)
  await line.collections.messages.updateOne(
    { _id: 'status' },
    { $set: { 'sends.0.state': 'read', writer: 'statuses:other' }, $inc: { revision: 1 } },
  )
  second.resolve('Two.')
  const record = await system.until('status')
  expect([asked, record.sends.map(({ state }) => state)]).toEqual([2, ['read', 'delivered', 'delivered']])
})

test('a thousand threads wait for a model at once, and messages with an answer pass them', async () => {
  const release = Promise.withResolvers<string>()
  const asked = new Set<string>()
  const system = line.start({
    model: (request: ModelRequest) => {
      asked.add(lastSaid(request))
      return release.promise
    },
  })
  const ids = Array.from({ length: 1_000 }, (_, n) => `wait-${n}`)
  for (const id of ids) system.publish(id, { thread: id })
  await eventually(async () => asked.size === 1_000)
  expect((await system.waiting).get('model')?.messages).toBe(1_000)
  system.publish('beside', { thread: 'beside', answer: { message: 'passes' } })
  await system.until('beside')
  expect(system.sent).toEqual([{ id: 'beside:0', text: 'passes' }])
  release.resolve('at last')
  for (const id of ids) await system.until(id)
  expect(system.sent.length).toBe(1_001)
})
