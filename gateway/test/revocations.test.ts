import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import type { Forgettable } from '../src/callers.ts'
import { followRevocations } from '../src/revocations.ts'

const log = createLog({ service: 'test', level: 'silent' })
const change = (id: string) => ({ id, kind: 'role', key: id })
const told = (at: number, ...ids: string[]) => ({ now: at, complete: true, changes: ids.map(change) })

let answers: unknown[]
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

/** Follows an identity that gives these answers in turn, and nothing after them; resolves when they are given. */
async function follow(...given: unknown[]): Promise<void> {
  answers = [...given]
  following = followRevocations({
    identity: {
      get: async (path) => {
        asked.push(path)
        const next = answers.shift()
        const answer = typeof next === 'function' ? next() : next
        if (answer === undefined) throw new Error('away')
        return answer
      },
    },
    callers: {
      forget: (changes) => void forgotten.push([...changes]),
      forgetAll: () => void forgottenAll++,
    },
    log,
  })
  await waitUntil(() => asked.length > given.length, { timeoutMs: 60_000, intervalMs: 10 })
}

test('what was revoked is asked for each second, from where the last answer ended', async () => {
  const started = performance.now()
  await follow(told(7, 'a'), told(9))
  expect(asked).toEqual([0, 7, 9].map((since) => `/internal/changes?since=${since}`))
  expect(performance.now() - started).toBeGreaterThan(1_900)
  expect(forgotten.map((changes) => changes.map(({ kind, key }) => [kind, key]))).toEqual([
    [['role', 'a']],
    [],
  ])
  expect(forgottenAll).toBe(0)
})

test('a change that is told again was seen when it was told first', async () => {
  await follow(told(1, 'a'), told(2, 'a', 'b'))
  const [[first] = [], [again, other] = []] = forgotten
  expect(again?.seenAt).toBe(first?.seenAt)
  expect(other!.seenAt).toBeGreaterThan(first!.seenAt + 900)
})

test('where identity no longer knows all that changed, all is forgotten', async () => {
  await follow({ ...told(1, 'a'), complete: false })
  expect([forgottenAll, forgotten.flat().map(({ key }) => key)]).toEqual([1, ['a']])
})

test('an answer that is none is passed over, and what was missed asked for again', async () => {
  await follow(told(3), { now: 'later' }, told(4, 'a'))
  expect(asked).toEqual([0, 3, 3, 4].map((since) => `/internal/changes?since=${since}`))
  expect(forgotten.flat().map(({ key }) => key)).toEqual(['a'])
})

test('a change is known again for 30 s, and a new one after that', async () => {
  let now = 1_000_000
  jest.spyOn(performance, 'now').mockImplementation(() => now)
  const later = (ms: number) => () => {
    now += ms
    return told(1, 'a')
  }
  await follow(later(0), later(30_000), later(1))
  expect(forgotten.flat().map(({ seenAt }) => seenAt)).toEqual([1_000_000, 1_000_000, 1_030_001])
})

test('that nothing can be heard is told once, the fifth time in a row', async () => {
  const warned = jest.spyOn(log, 'warn')
  const away = () => undefined
  await follow(away, away, told(1), away, away, away)
  expect(warned).not.toHaveBeenCalled()
  expect(await waitUntil(() => warned.mock.calls.length > 0, { timeoutMs: 5_000, intervalMs: 10 })).toBe(true)
  expect(await waitUntil(() => asked.length > 8, { timeoutMs: 5_000, intervalMs: 10 })).toBe(true)
  expect(warned.mock.calls).toEqual([[{ reason: 'away' }, 'revocations not read']])
}, 20_000)

test('it ends at once when it is closed', async () => {
  await follow()
  const started = performance.now()
  await following.close()
  expect(performance.now() - started).toBeLessThan(500)
  expect(asked).toHaveLength(1)
})
