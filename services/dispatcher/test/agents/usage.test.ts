import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { Registry } from 'prom-client'
import { createUsage, type Usage } from '../../src/agents/usage/usage.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { addUpUsage } from '../../src/store/add-up-usage.ts'
import type { UsageEntry } from '../../src/store/usage-records.ts'
import { SUMS } from '../../src/store/usage-records.ts'
import { agentLine } from './agent-line.ts'
import { modelTurn, toolCall } from './agent-system.ts'
import { type ModelWorld, startModelWorld } from './model-world.ts'

const line = agentLine()
const log = createLog({ service: 'test', level: 'silent' })
const HOUR_MS = 60 * 60 * 1_000
const always = () => true
const REFUSED = {
  text: 'x',
  finishReason: 'content_filter',
  usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1_000 },
}

let world: ModelWorld
beforeAll(async () => {
  world = await startModelWorld()
})
beforeEach(() => world.script({ ...REFUSED, times: 1_000 }))
afterAll(() => world.close())

/** What a workspace has used, over entries and hours. */
async function usedBy(workspace: number) {
  const sums = async (collection: 'usage' | 'usageHours') =>
    line.collections[collection]
      .aggregate([{ $match: { workspace } }, { $group: { _id: null, ...SUMS } }])
      .toArray()
  const [entries, hours] = await Promise.all([sums('usage'), sums('usageHours')])
  const { _id, modelMs, ...used } = entries[0] ?? {}
  const { _id: _hours, modelMs: _ms, ...ofHours } = hours[0] ?? {}
  return { entries: used, hours: ofHours }
}

const note = {
  kind: 'call' as const,
  deliver: async () => ({ kind: 'answered' as const, result: { state: 'done' as const, text: 'ok' } }),
}

describe('what models are used for', () => {
  test('counts each turn, and a message once however many turns it takes', async () => {
    let asked = 0
    const system = line.start({
      model: () => (asked++ < 2 ? modelTurn('', [toolCall('note', {}, `n${asked}`)]) : 'Done.'),
      open: () => note,
    })
    system.publish('three turns')
    await system.until('three turns')
    expect((await usedBy(system.workspace)).entries).toEqual({
      ...{ messages: 1, modelMessages: 1, turns: 3 },
      ...{ inputTokens: 30, outputTokens: 15, errors: 0 },
    })
    expect(await line.collections.usage.findOne({ _id: 'three turns:0' })).toMatchObject({
      ...{ workspace: system.workspace, channel: 'c', assistant: 1, provider: 'openai', model: 'm' },
    })
  })

  test('counts calls that fail, by their model, and the message with each model that was asked', async () => {
    let asked = 0
    const choices = ['first', 'second'].map((model) => ({ provider: 'openai' as const, model }))
    const system = line.start({
      model: () =>
        asked++ < 3 ? { kind: 'retryable', code: 'http_500', reason: 'It failed.' } : modelTurn('At last.'),
      parts: { choicesOf: () => ({ kind: 'choices', choices }) },
    })
    system.publish('fallen back')
    await system.until('fallen back')
    const { entries } = await usedBy(system.workspace)
    expect(entries).toMatchObject({ messages: 1, modelMessages: 2, turns: 1, errors: 3 })
    const ofFirst = await line.collections.usage
      .find({ workspace: system.workspace, model: 'first' })
      .toArray()
    expect(ofFirst.reduce((sum, { errors }) => sum + errors, 0)).toBe(3)
  })

  test('counts the tokens of an answer that is thrown away, beside its error', async () => {
    const system = line.start({ model: (request) => world.ask(request) })
    system.publish('refused')
    expect(await system.until('refused')).toMatchObject({ attempts: [{ code: 'content_refused' }] })
    expect((await usedBy(system.workspace)).entries).toEqual({
      ...{ messages: 1, modelMessages: 1, turns: 0 },
      ...{ inputTokens: 900, outputTokens: 100, errors: 1 },
    })
  })

  test('counts a turn once that is asked for again because the process died before it was stored', async () => {
    const metrics = createMetrics(new Registry())
    const real = createUsage({ collections: line.collections, metrics, log, now: Date.now })
    let asked = 0
    const { promise: died, resolve: die } = Promise.withResolvers<void>()
    const usage: Usage = {
      ...real,
      async meter(...call) {
        const result = await real.meter(...call)
        if (asked === 1) {
          // The call is noted; nothing of its message is stored any more.
          system.line.isDead = true
          die()
        }
        return result
      },
    }
    const system = line.start({
      parts: { usage },
      model: () => {
        asked++
        return 'Hello.'
      },
    })
    system.publish('died')
    await died
    expect(await line.collections.usage.findOne({ _id: 'died:0' })).not.toBeNull()
    await system.kill()
    await system.until('died')
    expect(asked).toBe(2)
    expect((await usedBy(system.workspace)).entries).toMatchObject({
      ...{ messages: 1, turns: 1, inputTokens: 10 },
    })
    const used = await line.collections.usedTokens
      .find({ _id: { $regex: `^\\[${system.workspace},` } })
      .toArray()
    expect(used.map(({ tokens }) => tokens)).toEqual([15])
  })

  test('is the same after it was added up, however often, and after the entries and the messages are removed', async () => {
    const system = line.start({ model: () => 'Hello.' })
    system.publish('a')
    system.publish('b')
    await Promise.all([system.until('a'), system.until('b')])
    const { workspace } = system
    const before = (await usedBy(workspace)).entries
    expect(before).toMatchObject({ messages: 2, turns: 2 })
    const later = Date.now() + 2 * HOUR_MS
    await addUpUsage(line.collections, { now: later, active: always })
    await line.collections.usageState.updateOne({ _id: 'usage' }, { $unset: { addedUpTo: '' } })
    await addUpUsage(line.collections, { now: later, active: always })
    expect(await usedBy(workspace)).toEqual({ entries: before, hours: before })
    await line.collections.messages.deleteMany({ workspace })
    await line.collections.usage.insertOne({
      ...(await line.collections.usage.findOne({ _id: 'a:0' }))!,
      ...{ _id: 'much later', workspace: 0, at: new Date(later + HOUR_MS) },
    })
    await addUpUsage(line.collections, { now: later + 4 * HOUR_MS, active: always })
    expect(await usedBy(workspace)).toEqual({ entries: {}, hours: before })
    await line.collections.usageState.deleteMany({})
  })
})

test('an instance whose clock is ahead adds no hour up that is not over', async () => {
  const { usage, usageState } = line.collections
  const now = new Date('2026-11-25T12:15:00Z').getTime()
  await usageState.updateOne(
    { _id: 'usage' },
    { $set: { expiresAt: new Date(now + 120_000) } },
    { upsert: true },
  )
  const entry = {
    workspace: 0,
    channel: 'c',
    provider: 'openai',
    model: 'm',
    inputTokens: 1,
    outputTokens: 1,
  }
  await usage.insertOne({ ...entry, _id: 'early', at: new Date(now - HOUR_MS) } as UsageEntry)
  await addUpUsage(line.collections, { now: now + HOUR_MS, active: always })
  expect((await usageState.findOne({ _id: 'usage' }))?.addedUpTo).toEqual(new Date('2026-11-25T12:00:00Z'))
  await usageState.deleteMany({})
})

describe("a channel's dailyTokens", () => {
  test('ends messages that need the model, with the fallback message, once they are used', async () => {
    const system = line.start({
      model: () => 'Hello.',
      config: { dailyTokens: 15, fallbackMessage: 'We call you.' },
    })
    system.publish('within')
    expect((await system.until('within')).state).toBe('delivered')
    await eventually(async () => {
      const id = `beyond-${Math.random()}`
      system.publish(id)
      const record = await system.until(id)
      if (record.state !== 'dead') return undefined
      expect(record).toMatchObject({
        fault: 'channel',
        reason: expect.stringContaining('15 (dailyTokens)'),
      })
      expect(record.attempts[0]).toMatchObject({ step: 'model', outcome: 'permanent', code: 'budget_spent' })
      return true
    })
    expect(system.sent.at(-1)?.text).toBe('We call you.')
    system.publish('answered', { answer: { message: 'Not by a model.' } })
    expect((await system.until('answered')).state).toBe('delivered')
  })

  test('are used by answers that are thrown away too', async () => {
    const system = line.start({ model: (request) => world.ask(request), config: { dailyTokens: 1_000 } })
    await eventually(async () => {
      const id = `thrown-away-${Math.random()}`
      system.publish(id)
      const { attempts } = await system.until(id)
      return attempts[0]?.code === 'budget_spent' || undefined
    })
    expect((await usedBy(system.workspace)).entries).toMatchObject({ turns: 0 })
  })

  test('is no bound for a channel without it', async () => {
    const system = line.start({ model: () => 'Hello.' })
    for (const id of ['one', 'two', 'three']) {
      system.publish(`free ${id}`)
      expect((await system.until(`free ${id}`)).state).toBe('delivered')
    }
  })
})
