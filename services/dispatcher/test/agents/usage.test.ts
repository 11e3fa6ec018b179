import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '@parley/local/testing/service-under-test'
import { createLog } from '@parley/shared/log'
import { Registry } from 'prom-client'
import { createUsage, type Usage } from '../../src/agents/usage/usage.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { addUpUsage } from '../../src/store/add-up-usage.ts'
import { pricingEntry, SUMS, type UsageEntry, usageEntry } from '../../src/store/usage-records.ts'
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

/** Returns the use of a workspace, summed over entries and hours. */
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
    const calling = () => {
      const { turn, ...answer } = modelTurn('', [toolCall('note', {}, `n${asked}`)])
      return { ...answer, turn: { ...turn, cachedTokens: 4 } }
    }
    const system = line.start({
      model: () => (asked++ < 2 ? calling() : 'Done.'),
      open: () => note,
    })
    system.publish('three turns')
    await system.until('three turns')
    expect((await usedBy(system.workspace)).entries).toEqual({
      ...{ messages: 1, modelMessages: 1, turns: 3 },
      ...{ inputTokens: 30, outputTokens: 15, cachedTokens: 8, errors: 0 },
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
      ...{ inputTokens: 900, outputTokens: 100, cachedTokens: 0, errors: 1 },
    })
  })

  test('counts a turn once that is asked for again because the process died before it was stored', async () => {
    const metrics = createMetrics(new Registry())
    const real = createUsage({
      ...{ collections: line.collections, metrics, log, now: Date.now },
      tokensPerDay: 1_000,
    })
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

test('what messages cost is added up by category, type and model, apart from what models are used for', async () => {
  const { usage, usageHours, usageState } = line.collections
  const at = new Date('2026-11-25T10:15:00Z')
  const priced = (providerId: string, category: string, type: string | null) =>
    pricingEntry(
      { workspace: 77, channel: 'c' },
      { pricing: { providerId, category, type, model: 'PMP', billable: true }, at },
    )
  const ofModel = usageEntry(
    'of a model',
    { workspace: 77, channel: 'c', assistant: 1, provider: 'openai', model: 'm', at },
    { messages: 1 },
  )
  await usage.insertMany([
    ...[priced('1', 'utility', 'regular'), priced('2', 'utility', 'regular')],
    ...[priced('3', 'service', null), ofModel],
  ])
  await addUpUsage(line.collections, { now: at.getTime() + 3 * HOUR_MS, active: always })
  const hours = await usageHours.find({ workspace: 77 }).toArray()
  expect(
    hours.map(({ category, type, model, messages }) => [category, type, model, messages]).sort(),
  ).toEqual(
    [
      ['service', null, 'PMP', 1],
      ['utility', 'regular', 'PMP', 2],
      [undefined, undefined, 'm', 1],
    ].sort(),
  )
  expect(hours.find(({ model }) => model === 'm')?._id).not.toHaveProperty('category')
  await usage.deleteMany({ workspace: 77 })
  await usageState.deleteMany({})
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
  const bounded = (dailyTokens: number) => ({ dailyTokens, dailyTokensPerPerson: dailyTokens })
  const costing = (inputTokens: number) => {
    const { kind, turn } = modelTurn('Hello.')
    return { kind, turn: { ...turn, inputTokens } }
  }
  const countOf = async (workspace: number) =>
    (await line.collections.usedTokens.findOne({ _id: { $regex: `^\\[${workspace},"[^"]*","c"\\]$` } }))
      ?.tokens

  test('ends messages that need the model once they are used, with the fallback message once', async () => {
    const system = line.start({
      model: () => costing(2_900),
      config: { ...bounded(3_000), fallbackMessage: 'We call you.' },
    })
    system.publish('within')
    expect((await system.until('within')).state).toBe('delivered')
    for (const id of ['beyond', 'again', 'and again']) {
      system.publish(id)
      const record = await system.until(id)
      expect(record).toMatchObject({
        ...{ state: 'dead', fault: 'channel' },
        reason: expect.stringContaining('3000 (dailyTokensPerPerson)'),
      })
      expect(record.attempts[0]).toMatchObject({ step: 'model', outcome: 'permanent', code: 'budget_spent' })
    }
    system.publish('of somebody else', { thread: 'other', user: { phone: '2' } })
    expect((await system.until('of somebody else')).reason).toContain('3000 (dailyTokens)')
    expect(system.sent.map(({ text }) => text)).toEqual(['Hello.', 'We call you.', 'We call you.'])
    system.publish('answered', { answer: { message: 'Not by a model.' } })
    expect((await system.until('answered')).state).toBe('delivered')
  })

  test('are used by answers that are thrown away too', async () => {
    const system = line.start({ model: (request) => world.ask(request), config: bounded(3_000) })
    await eventually(async () => {
      const id = `thrown-away-${Math.random()}`
      system.publish(id)
      const { attempts } = await system.until(id)
      return attempts[0]?.code === 'budget_spent' || undefined
    })
    expect((await usedBy(system.workspace)).entries).toMatchObject({ turns: 0 })
  })

  test('are not exceeded by any number of messages at once, and not refused while calls under way may leave some', async () => {
    const limit = 30_000
    const system = line.start({
      model: async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return costing(500)
      },
      config: bounded(limit),
    })
    const ids = Array.from({ length: 60 }, (_, at) => `at once ${at}`)
    for (const id of ids) system.publish(id, { thread: id })
    const ended = await Promise.all(ids.map((id) => system.until(id)))
    const delivered = ended.filter(({ state }) => state === 'delivered').length
    expect(delivered).toBeGreaterThan(50)
    expect(await countOf(system.workspace)).toBe(delivered * 505)
    expect(delivered * 505).toBeLessThanOrEqual(limit)
  })

  test('count what is estimated where the provider says nothing', async () => {
    const system = line.start({ model: () => costing(0), config: bounded(30_000) })
    system.publish('uncounted', { input: 'word '.repeat(1_000) })
    const { turns } = await system.until('uncounted')
    expect(turns?.[0]?.inputTokens).toBeGreaterThan(1_000)
    expect(await countOf(system.workspace)).toBe((turns?.[0]?.inputTokens ?? 0) + 5)
  })

  test('bound how long an answer may be, by what is left of them', async () => {
    const asked: (number | undefined)[] = []
    const model = (_request: object, { maxOutputTokens }: { maxOutputTokens?: number }) => {
      asked.push(maxOutputTokens)
      return costing(4_000)
    }
    const system = line.start({ model, config: bounded(5_000) })
    for (const id of ['long', 'short']) {
      system.publish(id, { thread: id })
      await system.until(id)
    }
    const free = line.start({ model })
    free.publish('free')
    await free.until('free')
    expect(asked).toEqual([4_096, expect.any(Number), undefined])
    expect(asked[1]).toBeLessThan(1_000)
  })

  test('is no bound for a channel without it', async () => {
    const system = line.start({ model: () => 'Hello.' })
    for (const id of ['one', 'two', 'three']) {
      system.publish(`free ${id}`)
      expect((await system.until(`free ${id}`)).state).toBe('delivered')
    }
  })
})

describe("the deployment's own key", () => {
  const choices = [{ provider: 'openai' as const, model: 'm', isDeployments: true }]
  const parts = { choicesOf: () => ({ kind: 'choices' as const, choices }) }

  test('bounds a workspace, and one person to a quarter of it', async () => {
    const { kind, turn } = modelTurn('Hello.')
    const system = line.start({
      ...{ parts, tokensPerDay: 20_000 },
      model: () => ({ kind, turn: { ...turn, inputTokens: 4_950 } }),
    })
    const stateOf = async (id: string, phone: string) => {
      system.publish(id, { thread: id, user: { phone } })
      const { state, reason = '' } = await system.until(id)
      return [state, reason]
    }
    for (const phone of ['11', '12', '13', '14']) {
      expect(await stateOf(`first ${phone}`, phone)).toEqual(['delivered', ''])
      expect(await stateOf(`second ${phone}`, phone)).toEqual([
        'dead',
        'The tokens of the day are spent: 5000 (a quarter of MODEL_TOKENS_PER_DAY for one person).',
      ])
    }
    expect((await stateOf('fifth', '15'))[1]).toContain('20000 (MODEL_TOKENS_PER_DAY)')
  })
})
