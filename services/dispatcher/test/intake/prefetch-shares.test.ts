import { describe, expect, test } from '@jest/globals'
import { PrefetchShares, SHARE } from '@parley/dispatcher/intake/prefetch-shares'
import { ACTIVE_MS } from '@parley/dispatcher/round-robin/ready-threads'
import fc from 'fast-check'

interface Message {
  id: number
  workspace: number
  isRunning: boolean
}

function sharesAt() {
  const clock = { now: 0 }
  const shares = new PrefetchShares<Message>({ isRunning: (one) => one.isRunning, now: () => clock.now })
  const all: Message[] = []
  const end = (message: Message) => {
    message.isRunning = false
    shares.ended(message.workspace)
  }
  /** Returns the ids of those that were stored at once. */
  const begin = (workspace: number, count = 1): number[] =>
    Array.from({ length: count }).flatMap(() => {
      const message = { id: all.length, workspace, isRunning: true }
      all.push(message)
      const stored = shares.began(workspace, message)
      for (const one of stored) end(one)
      return stored.map(({ id }) => id)
    })
  const running = (workspace: number) => all.filter((one) => one.isRunning && one.workspace === workspace)
  return { clock, begin, end, running }
}

describe('the messages of a workspace that run unstored', () => {
  test('are not bounded while nobody else is active', () => {
    expect(sharesAt().begin(1, 100)).toEqual([])
  })

  test('are stored from the oldest on beyond its share when another workspace is active, whose own share is its own', () => {
    const { begin, end, running } = sharesAt()
    expect(begin(2)).toEqual([])
    const [first = 0, second = 0] = [1, 2]
    expect(begin(1, SHARE)).toEqual([])
    expect(begin(1, 2)).toEqual([first, second])
    expect(begin(2, SHARE - 1)).toEqual([])
    for (const message of running(1).slice(0, 6)) end(message)
    expect(begin(1, 6)).toEqual([])
    expect(begin(1)).toEqual([second + 7])
  })

  test('are stored down to its share once another workspace becomes active', () => {
    const { begin, running } = sharesAt()
    begin(1, 50)
    begin(2)
    expect(begin(1)).toHaveLength(51 - SHARE)
    expect(running(1)).toHaveLength(SHARE)
  })

  test('are not bounded again five minutes after the other one was active', () => {
    const { clock, begin } = sharesAt()
    begin(2)
    begin(1)
    clock.now = ACTIVE_MS
    expect(begin(1, 100)).toEqual([])
  })

  test('are never more than its share beside another one, in whatever sequence they end, and the oldest are stored first', () => {
    const step = fc.record({ workspace: fc.integer({ min: 1, max: 2 }), ends: fc.option(fc.nat()) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
        const { begin, end, running } = sharesAt()
        begin(1)
        begin(2)
        for (const { workspace, ends } of steps) {
          const before = running(workspace).map(({ id }) => id)
          const chosen = running(workspace)[(ends ?? 0) % Math.max(1, before.length)]
          if (ends !== null && chosen !== undefined) {
            end(chosen)
            continue
          }
          expect(begin(workspace)).toEqual(before.length === SHARE ? before.slice(0, 1) : [])
          expect(running(workspace).length).toBeLessThanOrEqual(SHARE)
        }
      }),
    )
  })
})
