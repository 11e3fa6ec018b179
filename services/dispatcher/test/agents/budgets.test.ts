import { describe, expect, test } from '@jest/globals'
import type { WebhookMessage } from '@parley/shared/message'
import { createBudgets } from '../../src/agents/usage/budgets.ts'
import { type Budget, budgetsOf, countId, personOf } from '../../src/agents/usage/budgets-of.ts'
import { dispatcherDatabase } from '../dispatcher-database.ts'

const database = dispatcherDatabase({ partitions: 1 })
const spender = { workspace: 1, channel: 'c', assistant: 7, config: {}, person: 'p', isDeployments: false }
const of = { day: '2026-11-27', tokensPerDay: 1_000 }
const limits = (more: Partial<Parameters<typeof budgetsOf>[0]>) =>
  budgetsOf({ ...spender, ...more }, of).map(({ setting, limit }) => [setting.split(' ')[0], limit])
const person = (user: WebhookMessage['user'], thread = 't') => personOf({ user }, thread)

describe('what a call counts against', () => {
  test.each([
    ['nothing where nothing is bounded', {}, []],
    [
      'the channel, and a quarter for the person',
      { dailyTokens: 401 },
      [
        ['dailyTokensPerPerson', 100],
        ['dailyTokens', 401],
      ],
    ],
    [
      'what the channel says for the person',
      { dailyTokens: 400, dailyTokensPerPerson: 300 },
      [
        ['dailyTokensPerPerson', 300],
        ['dailyTokens', 400],
      ],
    ],
    ['the person alone', { dailyTokensPerPerson: 300 }, [['dailyTokensPerPerson', 300]]],
    ['nothing that is no number', { dailyTokens: 'many', dailyTokensPerPerson: Number.NaN }, []],
  ])('is %s', (_title, config, expected) => expect(limits({ config })).toEqual(expected))

  test('is the deployment’s key besides, for the workspace and a quarter for the person', () => {
    expect(limits({ isDeployments: true, config: { dailyTokens: 40 } })).toEqual([
      ['dailyTokensPerPerson', 10],
      ['dailyTokens', 40],
      ['a', 250],
      ['MODEL_TOKENS_PER_DAY', 1_000],
    ])
  })

  test('is the deployment’s key alone where an assistant is tried', () => {
    const trial = { channel: null, person: undefined, config: { dailyTokens: 40 }, isDeployments: true }
    expect(limits(trial)).toEqual([['MODEL_TOKENS_PER_DAY', 1_000]])
  })

  test('is counted as earlier versions count it on a channel, and apart from everything else', () => {
    const budgets = budgetsOf({ ...spender, isDeployments: true, config: { dailyTokens: 40 } }, of)
    const ids = budgets.flatMap(({ id, including }) => [id, ...(including === undefined ? [] : [including])])
    expect(ids).toContain('[1,"2026-11-27","c"]')
    expect(ids).toContain('[1,"2026-11-27",7]')
    expect(new Set(ids).size).toBe(5)
  })
})

describe('the person', () => {
  test('is the phone number, however it is written and whatever the thread is called', () => {
    const all = ['+55 11 92222-2222', '5511922222222', ' +5511922222222 '].map((phone, at) =>
      person({ phone }, `thread ${at}`),
    )
    expect(new Set(all).size).toBe(1)
    expect(all[0]).not.toContain('5511922222222')
    expect(all[0]).not.toBe(person({ phone: '5511922222223' }))
  })

  test('is another address where there is no number', () => {
    expect(person({ phone: 'BR.1349' }, 'a')).toBe(person({ phone: 'br.1349' }, 'b'))
    expect(person({ phone: 'BR.1349' })).not.toBe(person({ phone: '1349' }))
    expect(person({ email: 'Ana@shop.example' }, 'a')).toBe(person({ email: 'ana@shop.example' }, 'b'))
  })

  test('is the thread where there is no address', () => {
    expect(person({}, 'a')).not.toBe(person({}, 'b'))
    expect(person({ phone: '' }, 'a')).toBe(person({ phone: null }, 'a'))
  })
})

describe('a reservation', () => {
  const budgets = () => createBudgets({ usedTokens: database.collections.usedTokens, now: Date.now })
  let made = 0
  const budget = (limit: number, more: Partial<Budget> = {}): Budget => ({
    id: `test ${++made}`,
    limit,
    setting: 'x',
    ...more,
  })
  const required = { least: 100, full: 400, leaseMs: 60_000 }

  test('is all that a call may take, and what is left where nobody else is under way', async () => {
    const [one, store] = [budget(700), budgets()]
    const first = await store.reserve([one], required)
    expect(first).toMatchObject({ kind: 'reserved', tokens: 400 })
    expect(await store.reserve([one], required)).toMatchObject({ kind: 'pending' })
    if (first.kind === 'reserved') await store.settle([{ reservation: first.reservation, tokens: 350 }])
    expect(await store.reserve([one], required)).toMatchObject({ kind: 'reserved', tokens: 350 })
  })

  test('is refused, of none of its budgets anything, where one is spent', async () => {
    const [wide, narrow, store] = [budget(1_000), budget(99), budgets()]
    expect(await store.reserve([wide, narrow], required)).toEqual({ kind: 'spent', budget: narrow })
    expect(await database.collections.usedTokens.findOne({ _id: wide.id })).toMatchObject({
      tokens: 0,
      pending: 0,
    })
  })

  test('counts what another count has, and what an earlier version has counted', async () => {
    const including = countId({ workspace: 3, day: 'd', channel: 9 })
    const one = budget(500, { including })
    const expiresAt = new Date(Date.now() + 60_000)
    await database.collections.usedTokens.insertMany([
      { _id: including, tokens: 150, expiresAt },
      { _id: one.id, tokens: 200, expiresAt },
    ])
    expect(await budgets().reserve([one], required)).toMatchObject({ kind: 'reserved', tokens: 150 })
  })

  test('that nobody settles stays counted, and is waited for only until its lease is over', async () => {
    const one = budget(480)
    await budgets().reserve([one], { ...required, leaseMs: 1 })
    const { usedTokens } = database.collections
    await usedTokens.updateOne({ _id: one.id }, { $set: { pendingUntil: new Date(0) } })
    const store = budgets()
    expect(await store.reserve([one], required)).toEqual({ kind: 'spent', budget: one })
    expect(await usedTokens.findOne({ _id: one.id })).toMatchObject({ tokens: 400 })
    expect(store.spent([one])).toBeUndefined()
    expect(store.spent([{ ...one, limit: 420 }])).toMatchObject({ id: one.id })
  })

  test('of many at once is of one write after the other, and waits further back the more wait', async () => {
    const [one, store] = [budget(4_000), budgets()]
    const all = await Promise.all(Array.from({ length: 30 }, () => store.reserve([one], required)))
    const waits = all.flatMap((reserved) => (reserved.kind === 'pending' ? reserved.waitMs : []))
    expect(all.filter(({ kind }) => kind === 'reserved')).toHaveLength(10)
    expect(waits).toHaveLength(20)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(300)
  })
})
