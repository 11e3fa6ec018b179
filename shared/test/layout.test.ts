import { describe, expect, test } from '@jest/globals'
import {
  EARLIER_PARTITIONS,
  MAX_PARTITIONS,
  partitionOfSlot,
  partitionQueues,
  SLOTS,
  slotKey,
  slotOf,
  slotOfKey,
} from '@parley/shared/messaging/layout'
import fc from 'fast-check'

const threads = fc.tuple(fc.nat(), fc.string({ unit: 'binary' }))
const layouts = fc.record({
  generation: fc.integer({ min: 1, max: 1_000 }),
  partitions: fc.integer({ min: 1, max: MAX_PARTITIONS }),
})

describe('the slot of a thread', () => {
  test.each([
    [1, 'thread-1', 124],
    [1, 'thread-2', 207],
    [2, 'thread-1', 246],
    [7, '5511999998888', 219],
    [7, 'João 🎉', 216],
    [7, '', 42],
  ])('of workspace %i and %j is the same in every version', (workspace, thread, slot) => {
    expect(slotOf(workspace, thread)).toBe(slot)
  })

  test('threads spread over all slots', () => {
    const counts = new Array<number>(SLOTS).fill(0)
    for (let thread = 0; thread < 1_000 * SLOTS; thread++) {
      const slot = slotOf(1, `thread-${thread}`)
      counts[slot] = (counts[slot] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(850)
    expect(Math.max(...counts)).toBeLessThan(1_150)
  })

  test('is read from its key again', () => {
    fc.assert(
      fc.property(threads, ([workspace, thread]) => {
        const slot = slotOf(workspace, thread)
        expect(slotOfKey(slotKey(slot))).toBe(slot)
      }),
    )
    expect(slotOfKey('status')).toBeUndefined()
    expect(slotOfKey(`s${SLOTS}`)).toBeUndefined()
  })
})

describe('a layout', () => {
  test('gives each slot to one of its partitions, and each partition as many slots as the others, within one', () => {
    fc.assert(
      fc.property(layouts, (layout) => {
        const counts = new Array<number>(layout.partitions).fill(0)
        for (let slot = 0; slot < SLOTS; slot++) {
          const partition = partitionOfSlot(slot, layout)
          counts[partition] = (counts[partition] ?? 0) + 1
        }
        expect(counts).toHaveLength(layout.partitions)
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      }),
    )
  })

  test('has a slot of the number of each partition, which leads to it', () => {
    fc.assert(
      fc.property(layouts, (layout) => {
        for (let partition = 0; partition < layout.partitions; partition++)
          expect(partitionOfSlot(partition, layout)).toBe(partition)
      }),
    )
  })

  test('of eight partitions has the threads where versions without slots had them', () => {
    const partitions = EARLIER_PARTITIONS
    expect(partitionOfSlot(slotOf(1, 'thread-1'), { partitions })).toBe(4)
    expect(partitionOfSlot(slotOf(7, '5511999998888'), { partitions })).toBe(3)
    for (let partition = 0; partition < partitions; partition++)
      expect(slotOfKey(`p${partition}`)).toBe(partition)
    expect(partitionQueues({ generation: 1, partitions: 2 })).toEqual(['messages.p0', 'messages.p1'])
  })

  test('shares no queue with one of another generation', () => {
    fc.assert(
      fc.property(layouts, layouts, (one, other) => {
        const both = new Set([...partitionQueues(one), ...partitionQueues(other)])
        const isSame = one.generation === other.generation
        expect(both.size).toBe(
          isSame ? Math.max(one.partitions, other.partitions) : one.partitions + other.partitions,
        )
      }),
    )
  })
})
