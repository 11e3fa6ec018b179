import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import type { Forgettable } from '../src/callers.ts'
import { followRevocations } from '../src/revocations.ts'

const log = createLog({ service: 'test', level: 'silent' })
const change = (id: string) => ({ id, kind: 'role', key: id })
const reported = (at: number, ...ids: string[]) => ({ now: at, complete: true, changes: ids.map(change) })

let replies: unknown[]
let asked: string[]
let forgotten: Forgettable[][]
let forgottenAll: number
let following: { close(): Promise<void> }
beforeEach(() => {
  asked = []
  forgotten = []
  forgottenAll = 0
})
afterEach(async () => {
  await following.close()
  jest.restoreAllMocks()
})

/** Follows an identity that gives these replies one after another and then fails; resolves when all were given. */
async function follow(...given: unknown[]): Promise<void> {
  replies = [...given]
  following = followRevocations({
    identity: {
      get: async (path) => {
        asked.push(path)
        const next = replies.shift()
        const reply = typeof next === 'function' ? next() : next
        if (reply === undefined) throw new Error('unavailable')
        return reply
      },
    },
    rememberers: [
      {
        forget: (changes) => void forgotten.push([...changes]),
        forgetAll: () => void forgottenAll++,
      },
    ],
    log,
  })
  await waitUntil(() => asked.length > given.length, { timeoutMs: 60_000, intervalMs: 10 })
}

test('identity is asked each second for what was revoked since its last reply', async () => {
  const started = performance.now()
  await follow(reported(7, 'a'), reported(9))
  expect(asked).toEqual([0, 7, 9].map((since) => `/internal/changes?since=${since}`))
  expect(performance.now() - started).toBeGreaterThan(1_900)
  expect(forgotten.map((changes) => changes.map(({ kind, key }) => [kind, key]))).toEqual([
    [['role', 'a']],
    [],
  ])
  expect(forgottenAll).toBe(0)
})

test('a change that is reported again counts as seen at its first report', async () => {
  await follow(reported(1, 'a'), reported(2, 'a', 'b'))
  const [[first] = [], [again, other] = []] = forgotten
  expect(again?.seenAt).toBe(first?.seenAt)
  expect(other!.seenAt).toBeGreaterThan(first!.seenAt + 900)
})

test('all callers are forgotten when identity no longer has every change', async () => {
  await follow({ ...reported(1, 'a'), complete: false })
  expect([forgottenAll, forgotten.flat().map(({ key }) => key)]).toEqual([1, ['a']])
})

test('an unreadable reply is skipped, and the same changes are asked for again', async () => {
  await follow(reported(3), { now: 'later' }, reported(4, 'a'))
  expect(asked).toEqual([0, 3, 3, 4].map((since) => `/internal/changes?since=${since}`))
  expect(forgotten.flat().map(({ key }) => key)).toEqual(['a'])
})

test('a repeated change is recognised for 30 s, and counts as new after that', async () => {
  let now = 1_000_000
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  const later = (ms: number) => () => {
    now += ms
    return reported(1, 'a')
  }
  await follow(later(0), later(30_000), later(1))
  expect(forgotten.flat().map(({ seenAt }) => seenAt)).toEqual([1_000_000, 1_000_000, 1_030_001])
})

test('failing to read changes is logged once, at the fifth failure in a row', async () => {
  const warned = jest.spyOn(log, 'warn')
  const unavailable = () => undefined
  await follow(unavailable, unavailable, reported(1), unavailable, unavailable, unavailable)
  expect(warned).not.toHaveBeenCalled()
  expect(await waitUntil(() => warned.mock.calls.length > 0, { timeoutMs: 30_000, intervalMs: 10 })).toBe(
    true,
  )
  expect(await waitUntil(() => asked.length > 8, { timeoutMs: 30_000, intervalMs: 10 })).toBe(true)
  expect(warned.mock.calls).toEqual([
    [{ reason: 'unavailable' }, expect.stringContaining('revocations not read')],
  ])
})

test('closing ends the loop at once', async () => {
  await follow()
  const started = performance.now()
  await following.close()
  expect(performance.now() - started).toBeLessThan(900)
  expect(asked).toHaveLength(1)
})
