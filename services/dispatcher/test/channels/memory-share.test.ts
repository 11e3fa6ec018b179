import { describe, expect, test } from '@jest/globals'
import { MemoryShare } from '@parley/dispatcher/schedule/memory-share'

const MOST = { threads: 4_000, characters: 8_000 }

/** Gives a workspace threads as long as they fit, and says how many did. */
function fill(memory: MemoryShare, workspace: number, count: number): number {
  let given = 0
  for (; given < count && memory.fits(workspace, 'threads'); given++) memory.change(workspace, { threads: 1 })
  return given
}

describe('the memory of a partition', () => {
  test('is a quarter for one workspace, whatever it has waiting', () => {
    const memory = new MemoryShare(MOST)
    expect(fill(memory, 1, 10_000)).toBe(1_000)
    expect(fill(memory, 2, 500)).toBe(500)
    expect(memory.fits(1, 'characters')).toBe(true)
  })

  test('has a reserve for each workspace when others have used it up, and an end', () => {
    const memory = new MemoryShare(MOST)
    for (let workspace = 1; workspace <= 4; workspace++) fill(memory, workspace, 1_000)
    expect(fill(memory, 5, 100)).toBe(4)
    for (let workspace = 6; workspace < 2_000; workspace++) fill(memory, workspace, 100)
    expect(memory.threads).toBe(8_000)
  })

  test('is read on for a workspace when half of what it may have is free', () => {
    const memory = new MemoryShare(MOST)
    fill(memory, 1, 1_000)
    expect(memory.isHalfFree(1)).toBe(false)
    memory.change(1, { threads: -500 })
    expect(memory.isHalfFree(1)).toBe(true)
  })
})
