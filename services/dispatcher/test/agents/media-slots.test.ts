import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { CallSlots, createMediaSlots } from '../../src/agents/model/media-slots.ts'
import type { ModelResult } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn } from './agent-system.ts'

const line = agentLine()
const SPOKEN = { audio: Buffer.from('OggS').toString('base64'), input: '' }

describe('slots', () => {
  test('are given to those who wait, first to the workspace that has fewest, in turns where they have as many', async () => {
    const slots = new CallSlots({ of: 'calls', total: 2 })
    const [first, second] = [slots.take(1), slots.take(2)]
    const sequence: number[] = []
    const waiting = [2, 3, 3, 4].map(async (workspace) => {
      await slots.room(workspace)
      sequence.push(workspace)
      slots.take(workspace)?.()
    })
    first?.()
    await Promise.all(waiting)
    expect(sequence).toEqual([3, 4, 3, 2])
    second?.()
    expect(slots.hasRoom(9)).toBe(true)
  })

  test('that can be given up go to a workspace that has fewer', () => {
    const { audio } = createMediaSlots()
    const preempted: number[] = []
    const taken = Array.from({ length: 9 }, (_, n) => audio.take(1, () => preempted.push(n)) !== undefined)
    expect(taken).toEqual([...Array(8).fill(true), false])
    expect([2, 3].map((workspace) => audio.take(workspace, () => undefined) !== undefined)).toEqual([
      true,
      true,
    ])
    expect(preempted).toEqual([7, 6])
  })
})

describe('messages with audio', () => {
  test('of a workspace whose model hangs wait or give way without a try, and those of another are heard at once', async () => {
    const mediaSlots = createMediaSlots()
    const hangs = Promise.withResolvers<ModelResult>()
    const started: string[] = []
    const partsOf = (hear: () => Promise<ModelResult>) => ({
      mediaSlots,
      hearing: {
        canHear: () => true,
        hear: ({ record }: { record: { _id: string } }) => {
          started.push(record._id)
          return hear()
        },
      },
    })
    const slow = line.start({ model: lastSaid, parts: partsOf(() => hangs.promise) })
    const other = line.start({ model: lastSaid, parts: partsOf(async () => modelTurn('Hello')) })
    const ids = Array.from({ length: 10 }, (_, n) => `hangs-${n}`)
    for (const id of ids) slow.publish(id, { ...SPOKEN, thread: id })
    for (const id of ids) await slow.until(id, () => true)
    other.publish('beside', SPOKEN)
    expect((await other.until('beside')).transcript).toBe('Hello')
    // The latest of eight has given way, and began again when there was room.
    await eventually(async () => started.length >= 10)
    expect(new Set(started.slice(0, 8)).size).toBe(8)
    expect(started[8]).toBe('beside')
    hangs.resolve(modelTurn('At last'))
    const ended = await Promise.all(ids.map((id) => slow.until(id)))
    for (const { state, attempts } of ended)
      expect([state, attempts.map(({ outcome }) => outcome)]).toEqual(['delivered', ['accepted']])
  })

  test('wait without a try where the agent of type transcriber has no room for them', async () => {
    const room = Promise.withResolvers<void>()
    let isBusy = true
    const channel = {
      _id: 1,
      hook: 'rpc',
      callback: 'rpc',
      handlerUrl: 'native:agents/transcriber',
      config: {},
    } as const
    const system = line.start({
      model: () => 'never asked',
      options: {
        channels: { find: async (workspace) => ({ ...channel, workspace }) },
        handle: async () =>
          isBusy ? { kind: 'busy', room: room.promise } : { kind: 'answer', answer: { message: 'Heard.' } },
      },
    })
    system.publish('transcribed', SPOKEN)
    await system.until('transcribed', () => true)
    isBusy = false
    room.resolve()
    const record = await system.until('transcribed')
    expect([record.state, record.attempts.length, system.sent]).toEqual([
      'delivered',
      1,
      [{ id: 'transcribed:0', text: 'Heard.' }],
    ])
  })
})
