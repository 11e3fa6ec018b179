import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

let system: AssistantSystem
let clinic: Clinic
let other: Clinic

beforeAll(async () => {
  system = await startAssistantSystem()
  clinic = await openClinic(system, 'uses')
  other = await openClinic(system, 'idle')
})
beforeEach(() => clinic.script())
afterAll(async () => {
  await clinic.close()
  await other.close()
  await system.close()
})

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
const rows = async (query: string, of: Clinic = clinic): Promise<Parsed[]> =>
  ((await of.call('GET', `/rest/usage${query}`)) as Parsed).data
const today = () => new Date().toISOString().slice(0, 10)

describe('GET /rest/usage', () => {
  test('adds up what models were used for, by day, channel, assistant and model', async () => {
    await clinic.script(
      { calls: [{ name: 'freeTimes', arguments: { day: 'Friday' } }], usage },
      { text: 'At 9.', usage },
    )
    await clinic.ask('When?')
    const sums = { messages: 1, turns: 2, inputTokens: 200, outputTokens: 40, errors: 0 }
    const found = await rows('?by=day')
    expect(found).toEqual([{ day: today(), ...sums, modelMs: expect.any(Number) }])
    expect(await rows('')).toEqual(found)
    expect(await rows('?by=channel')).toMatchObject([{ channel: 'clinic-line', ...sums }])
    expect(await rows('?by=assistant')).toMatchObject([{ assistant: 1, ...sums }])
    expect(await rows('?by=model')).toMatchObject([
      { provider: 'openai-compatible', model: 'simulator', ...sums },
    ])
    expect(await rows(`?from=${today()}&to=${new Date().toISOString()}`)).toEqual(found)
    expect(await rows('?to=2020-01-01')).toEqual([])
    expect(await rows('', other)).toEqual([])
  })

  test('is in the metrics too, by provider', async () => {
    const metric = system.parley.services.dispatcher.registry.getSingleMetric('parley_model_tokens_total')
    const { values } = (await metric?.get()) ?? { values: [] }
    const labels = { provider: 'openai-compatible', direction: 'input' }
    const input = values.find((one) => one.labels.direction === 'input')
    expect(input).toMatchObject({ labels })
    expect(input?.value).toBeGreaterThanOrEqual(200)
  })

  test('counts what an assistant was tried with, of no channel', async () => {
    await clinic.script({ text: 'Hello.', usage })
    const body = { messages: [{ role: 'person', text: 'Hi' }], tools: 'describe' }
    await (await clinic.request('POST', '/rest/assistant/1/try', body)).text()
    expect((await rows('?by=channel')).find(({ channel }) => channel === null)).toMatchObject({
      ...{ messages: 1, turns: 1, inputTokens: 100, outputTokens: 20 },
    })
  })

  test.each(['?by=person', '?from=yesterday', '?from=2026-02-01&to=2026-01-01', '?channel=x'])(
    'refuses %s',
    async (query) => {
      const response = await clinic.request('GET', `/rest/usage${query}`)
      expect([response.status, ((await response.json()) as Parsed).code]).toEqual([422, 'validation_failed'])
    },
  )
})

describe("a channel's dailyTokens", () => {
  test('bounds what its agent uses, tries included; the person gets the fallback message', async () => {
    const config = { dailyTokens: 300, fallbackMessage: 'Somebody calls you back.' }
    await other.call('PATCH', '/rest/channels/1', { config })
    await other.script({ text: 'Hello.', usage, times: 100 })
    expect((await other.ask('Hi')).state).not.toBe('dead')
    for (let tries = 0; tries < 2; tries++) {
      const body = { messages: [{ role: 'person', text: 'Hi' }], tools: 'describe' }
      await (await other.request('POST', '/rest/assistant/1/try', body)).text()
    }
    const dead = await eventually(async () => {
      const message = await other.ask('And now?')
      return message.state === 'dead' ? message : undefined
    })
    expect(dead).toMatchObject({ fault: 'channel', reason: expect.stringContaining('dailyTokens') })
    expect(dead.attempts.map(({ code }: Parsed) => code)).toEqual(expect.arrayContaining(['budget_spent']))
    expect((await other.texts()).at(-1)).toBe('Somebody calls you back.')
  })
})
