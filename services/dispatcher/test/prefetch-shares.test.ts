import { describe, expect, test } from '@jest/globals'
import { PrefetchShares, SHARE } from '@parley/dispatcher/intake/prefetch-shares'
import { ACTIVE_MS } from '@parley/dispatcher/round-robin/ready-threads'

function sharesAt() {
  const clock = { now: 0 }
  const shares = new PrefetchShares(() => clock.now)
  const arrive = (workspace: number, count: number) =>
    Array.from({ length: count }, () => shares.arrived(workspace)).filter((beyond) => beyond).length
  return { clock, shares, arrive }
}

describe('the unstored messages of a workspace', () => {
  test('is not bounded while nobody else is active', () => {
    expect(sharesAt().arrive(1, 100)).toBe(0)
  })

  test('is stored at once beyond its share when another workspace is active, whose own share is its own', () => {
    const { shares, arrive } = sharesAt()
    arrive(2, 1)
    expect(arrive(1, SHARE + 5)).toBe(5)
    expect(arrive(2, SHARE - 1)).toBe(0)
    for (let n = 0; n < 6; n++) shares.stored(1)
    expect(arrive(1, 2)).toBe(1)
  })

  test('is not bounded again five minutes after the other one was active', () => {
    const { clock, arrive } = sharesAt()
    arrive(2, 1)
    arrive(1, 1)
    clock.now = ACTIVE_MS
    expect(arrive(1, 100)).toBe(0)
  })
})
