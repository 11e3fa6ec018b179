import { describe, expect, test } from '@jest/globals'
import { RecentlyStored } from '../../src/store/recently-stored.ts'

const receivedAt = new Date('2026-11-25T10:59:59.999Z')
const message = (_id: string, channel = 'line') => ({ _id, workspace: 1, channel, receivedAt })
const hour = new Date('2026-11-25T10:00:00.000Z')

describe('messages that were stored recently', () => {
  test('are found with the hour in which they were received', () => {
    const recent = new RecentlyStored()
    recent.note(message('a'))
    recent.note(message('b', 'other'))
    recent.note(message('c', 'other'))
    expect(recent.find('a')).toEqual({ _id: 'a', workspace: 1, channel: 'line', hour, place: 'stored' })
    expect(recent.find('b')).toEqual({ _id: 'b', workspace: 1, channel: 'other', hour, place: 'stored' })
    expect(recent.find('c')).toEqual({ _id: 'c', workspace: 1, channel: 'other', hour, place: 'stored' })
    expect(recent.find('d')).toBeUndefined()
  })

  test('are forgotten after 30 to 60 seconds, also where nothing is noted any more', () => {
    let now = 0
    const recent = new RecentlyStored(() => now)
    recent.note(message('a'))
    now = 29_999
    recent.note(message('b'))
    now = 45_000
    expect([recent.find('a')?._id, recent.find('b')?._id]).toEqual(['a', 'b'])
    now = 60_001
    recent.note(message('c'))
    now = 75_000
    expect(['a', 'b', 'c'].map((id) => recent.find(id)?._id)).toEqual([undefined, undefined, 'c'])
    now = 1_000_000
    expect(recent.find('c')).toBeUndefined()
  })

  test('are the latest 50,000 at least, and 100,000 at most', () => {
    const recent = new RecentlyStored()
    const ids = Array.from({ length: 150_001 }, (_, n) => `m-${n}`)
    for (const id of ids) recent.note(message(id))
    const found = ids.filter((id) => recent.find(id) !== undefined)
    expect(found).toEqual(ids.slice(-found.length))
    expect(found.length).toBeGreaterThanOrEqual(50_000)
    expect(found.length).toBeLessThanOrEqual(100_000)
  })
})
