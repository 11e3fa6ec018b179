import { describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import fc from 'fast-check'
import { createMediaSlots, MediaSlots } from '../../src/agents/model/media-slots.ts'
import type { ModelResult } from '../../src/agents/model-client.ts'
import { agentLine } from './agent-line.ts'
import { lastSaid, modelTurn } from './agent-system.ts'

const line = agentLine()
const SPOKEN = { audio: Buffer.from('OggS').toString('base64'), input: '' }

/** Takes slots until there is none. */
function takeAll(slots: MediaSlots, workspace: number): (() => void)[] {
  const release = slots.take(workspace)
  return release === undefined ? [] : [release, ...takeAll(slots, workspace)]
}

describe('slots', () => {
  test('are half for one workspace alone, and some are left for each that comes', () => {
    const slots = new MediaSlots(8)
    expect([1, 2, 3].map((workspace) => takeAll(slots, workspace).length)).toEqual([4, 2, 1])
  })

  test('are given to those who wait, one workspace after the other', async () => {
    const slots = new MediaSlots(1)
    const release = slots.take(1)
    const order: number[] = []
    const waiting = [2, 2, 3].map(async (workspace) => {
      await slots.room(workspace)
      order.push(workspace)
      slots.take(workspace)?.()
    })
    release?.()
    await Promise.all(waiting)
    expect(order).toEqual([2, 3, 2])
  })

  test('are never more than there are, and given back once, whatever is taken and released', () => {
    const step = fc.record({ workspace: fc.integer({ min: 1, max: 4 }), takes: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const slots = new MediaSlots(8)
        const taken: (() => void)[] = []
        for (const { workspace, takes } of steps) {
          const release = takes ? slots.take(workspace) : undefined
          if (release !== undefined) taken.push(release)
          if (!takes) for (const twice of [1, 2]) taken[twice - 1]?.()
          if (!takes) taken.splice(0, 2)
          expect(taken.length).toBeLessThanOrEqual(8)
        }
        for (const release of taken) release()
        expect(takeAll(slots, 1)).toHaveLength(4)
      }),
    )
  })
})

describe('messages with audio', () => {
  test('of a workspace whose model hangs wait without a try, and those of another are heard beside them', async () => {
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
    const ids = Array.from({ length: 6 }, (_, n) => `hangs-${n}`)
    for (const id of ids) slow.publish(id, { ...SPOKEN, thread: id })
    for (const id of ids) await slow.until(id, () => true)
    other.publish('beside', SPOKEN)
    expect((await other.until('beside')).transcript).toBe('Hello')
    await eventually(async () => (started.length >= 5 ? true : undefined))
    expect(started.filter((id) => id !== 'beside')).toHaveLength(4)
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
