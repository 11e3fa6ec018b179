import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { waitUntil } from '@parley/local/wait-until'
import { createLog } from '@parley/shared/log'
import type { Forgettable } from '../src/callers.ts'
import { followRevocations } from '../src/revocations.ts'

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
afterEach(() => following.close())

/** Follows an identity that gives these answers in turn, and nothing after them; resolves when they are given. */
async function follow(...given: unknown[]): Promise<void> {
  answers = [...given]
  following = followRevocations({
    identity: {
      get: async (path) => {
        asked.push(path)
        const answer = answers.shift()
        if (answer === undefined) throw new Error('away')
        return answer
      },
    },
    callers: {
      forget: (changes) => void forgotten.push([...changes]),
      forgetAll: () => void forgottenAll++,
    },
    log: createLog({ service: 'test', level: 'silent' }),
  })
  await waitUntil(() => asked.length > given.length, { timeoutMs: 20_000, intervalMs: 10 })
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

test('it ends at once when it is closed', async () => {
  await follow()
  const started = performance.now()
  await following.close()
  expect(performance.now() - started).toBeLessThan(500)
  expect(asked).toHaveLength(1)
})
