import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { CLINIC_LINE } from '@parley/local/demo/assistant/clinic'
import { eventually, type Parsed } from '@parley/local/testing/service-under-test'
import { type AssistantSystem, startAssistantSystem } from './assistant-system.ts'
import { type Clinic, openClinic } from './clinic.ts'

let system: AssistantSystem
let clinic: Clinic
let other: Clinic
let crowd: Clinic
const TOKENS_PER_DAY = 200_000
/** 60 long prompts, some of them made several times, on a machine that runs other tests beside. */
const ENDED_MS = 180_000

beforeAll(async () => {
  system = await startAssistantSystem({ MODEL_TOKENS_PER_DAY: `${TOKENS_PER_DAY}` })
  clinic = await openClinic(system, 'uses')
  other = await openClinic(system, 'idle')
  crowd = await openClinic(system, 'crowd')
})
beforeEach(() => clinic.script())
afterAll(async () => {
  await clinic.close()
  await other.close()
  await crowd.close()
  await system.close()
})

const TRIAL = { messages: [{ role: 'person', text: 'Hi' }], tools: 'describe' }
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
    const sums = {
      ...{ messages: 1, turns: 2, errors: 0 },
      ...{ inputTokens: 200, cachedTokens: 0, outputTokens: 40 },
    }
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
  test('bounds what its agent uses, tries included; the person gets the fallback message once', async () => {
    const config = { dailyTokens: 20_000, dailyTokensPerPerson: 20_000, fallbackMessage: 'We call you back.' }
    await other.call('PATCH', '/rest/channels/1', { config })
    const large = { prompt_tokens: 9_900, completion_tokens: 100, total_tokens: 10_000 }
    await other.script({ text: 'Hello.', usage: large, times: 100 })
    expect((await other.ask('Hi')).state).not.toBe('dead')
    await (await other.request('POST', '/rest/assistant/1/try', TRIAL)).text()
    for (let beyond = 0; beyond < 2; beyond++) {
      const dead = await other.ask('And now?')
      expect(dead).toMatchObject({ state: 'dead', fault: 'channel' })
      expect(dead.reason).toContain('(dailyTokens)')
      expect(dead.attempts.map(({ code }: Parsed) => code)).toEqual(expect.arrayContaining(['budget_spent']))
    }
    expect((await other.texts()).filter((text) => text === config.fallbackMessage)).toHaveLength(1)
  })
})

describe("the deployment's own key", () => {
  const write = (of: Clinic, message: { thread: string; phone: string; input: string }) => {
    const { thread, phone, input } = message
    const body = { extId: CLINIC_LINE, user: { phone }, thread: { extId: thread }, answer: {}, input }
    return of.call('POST', '/api/hooks/whatsapp', body)
  }
  const ended = (count: number): Promise<Parsed[]> =>
    eventually(
      async () => {
        const { data } = (await crowd.call('GET', '/rest/messages?limit=100')) as Parsed
        const closed = data.filter(({ state }: Parsed) => !['received', 'handled', 'sending'].includes(state))
        return closed.length === count ? data : undefined
      },
      { timeoutMs: ENDED_MS },
    )

  test('is not used beyond a quarter of the day by one person, who is told once, nor beyond the day by trials', async () => {
    const fallbackMessage = 'Tomorrow again.'
    await crowd.call('PATCH', '/rest/channels/1', { config: { fallbackMessage } })
    const threads = Array.from({ length: 60 }, (_, at) => `thread-${at}`)
    const large = { phone: '+55 11 91111-1111', input: 'word '.repeat(4_000) }
    await Promise.all(threads.map((thread) => write(crowd, { thread, ...large })))
    const dead = (await ended(60)).filter(({ state }) => state === 'dead')
    expect(dead.length).toBeGreaterThan(30)
    expect(dead.length).toBeLessThan(60)
    const [used] = await rows('', crowd)
    expect(used.inputTokens + used.outputTokens).toBeLessThan((TOKENS_PER_DAY / 4) * 1.1)
    expect((await crowd.texts()).filter((text) => text === fallbackMessage)).toHaveLength(1)

    await write(crowd, { thread: 'somebody else', phone: '+55 11 92222-2222', input: 'Hello' })
    const after = await ended(61)
    expect(after.find(({ thread }) => thread === 'somebody else').state).not.toBe('dead')
    await crowd.script({ text: 'x', usage: { prompt_tokens: TOKENS_PER_DAY, completion_tokens: 1 } })
    expect((await crowd.request('POST', '/rest/assistant/1/try', TRIAL)).status).toBe(200)
    const refused = await crowd.request('POST', '/rest/assistant/1/try', TRIAL)
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { code: 'budget_spent', detail: expect.stringContaining('MODEL_TOKENS_PER_DAY') },
    ])
  })

  test('is used for 16,000 characters of what one message says', async () => {
    await clinic.script({ text: 'Long.' })
    await write(clinic, { thread: 'long', phone: '1', input: 'a'.repeat(20_000) })
    const request = await eventually(async () => (await clinic.requests()).at(-1))
    const said = JSON.stringify(request.messages)
    expect(said).toContain('a'.repeat(16_000))
    expect(said).not.toContain('a'.repeat(16_001))
    expect(said).toContain('… (cut: 4000 more characters)')
  })
})
