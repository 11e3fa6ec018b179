import { describe, expect, test } from '@jest/globals'
import type { JsonObject } from '@parley/shared/json-object'
import fc from 'fast-check'
import { choicesOf, deploymentChoice, transcriptionChoiceOf } from '../../src/agents/model/choices.ts'
import type { ModelChoice } from '../../src/agents/model-client.ts'

const agent = (configs: Record<string, JsonObject>) => ({ configs: new Map(Object.entries(configs)) })
const deployment: ModelChoice = { provider: 'openai', model: 'theirs', apiKey: 'deployment-key' }
const choices = (configs: Record<string, JsonObject>, own: ModelChoice | undefined = deployment) => {
  const found = choicesOf(agent(configs), own)
  return found.kind === 'choices' ? found.choices : found.reason
}

describe('the models of an assistant', () => {
  test.each([
    ['model', 'credentials'],
    ['AI_CHAT_PROVIDER', 'credentials'],
    ['AI_CHAT_PROVIDER', 'openai_CREDENTIALS'],
    ['model', 'OPENAI_CREDENTIALS'],
  ])('are those of %s and %s', (model, credentials) => {
    expect(
      choices({
        [model]: { provider: 'OpenAI', model: 'gpt', temperature: 0.2 },
        [credentials]: { apiKey: 'own' },
      }),
    ).toEqual([{ provider: 'openai', model: 'gpt', temperature: 0.2, apiKey: 'own', vision: true }])
  })

  test('read images where the provider’s do, unless their config says otherwise', () => {
    const visionOf = (model: JsonObject) => {
      const [first] = choices({ model, credentials: { apiKey: 'k' } })
      return typeof first === 'string' ? first : first?.vision
    }
    const compatible = { provider: 'openai-compatible', model: 'llava', baseUrl: 'http://models:8000/v1' }
    expect(visionOf({ provider: 'google', model: 'gemini' })).toBe(true)
    expect(visionOf({ provider: 'openai', model: 'gpt-3.5', vision: false })).toBeUndefined()
    expect(visionOf(compatible)).toBeUndefined()
    expect(visionOf({ ...compatible, vision: true })).toBe(true)
  })

  test.each([
    ['credentials', ['https://api.openai.com'], {}, true],
    ['credentials', ['https://api.openai.com'], { baseUrl: 'https://evil.example/v1' }, false],
    ['openai_CREDENTIALS', ['https://eu.example'], { baseUrl: 'https://eu.example/other' }, true],
    ['OPENAI-credentials', [], {}, false],
  ])('have the key in %s only at the origins %j that it was stored for', (name, origins, at, isSent) => {
    const configs = { model: { provider: 'openai', model: 'm', ...at }, [name]: { apiKey: 'own' } }
    const found = choicesOf({ ...agent(configs), origins: new Map([[name, origins]]) }, deployment)
    if (isSent) expect(found).toMatchObject({ kind: 'choices', choices: [{ apiKey: 'own' }] })
    else expect(found).toMatchObject({ kind: 'missing', reason: expect.stringMatching(/Store it again/) })
  })

  test('are the deployment’s when the assistant has no model, whatever keys it has', () => {
    expect(choices({ credentials: { apiKey: 'own' } })).toEqual([deployment])
  })

  test('have their fallbacks after them, each with the key of where it goes', () => {
    const fallbacks = [
      { provider: 'openai', model: 'small' },
      { provider: 'openai', model: 'near', baseUrl: 'https://eu.openai.example/v1/' },
      { provider: 'anthropic', model: 'claude' },
      { provider: 'openai-compatible', model: 'llama', baseUrl: 'http://models:8000/v1' },
    ]
    const configs = {
      model: { provider: 'openai', model: 'big', fallbacks },
      credentials: { apiKey: 'main' },
      anthropic_CREDENTIALS: { apiKey: 'of anthropic' },
    }
    expect(choices(configs)).toEqual([
      { provider: 'openai', model: 'big', apiKey: 'main', vision: true },
      { provider: 'openai', model: 'small', apiKey: 'main', vision: true },
      { provider: 'openai', model: 'near', baseUrl: 'https://eu.openai.example/v1', vision: true },
      { provider: 'anthropic', model: 'claude', apiKey: 'of anthropic', vision: true },
      { provider: 'openai-compatible', model: 'llama', baseUrl: 'http://models:8000/v1' },
    ])
  })

  test.each([
    [{}, /no config model \{provider, model\}, and the deployment has no model/],
    [
      { model: { provider: 'cohere', model: 'x' } },
      /config model is wrong: provider: expected one of openai, anthropic/,
    ],
    [{ AI_CHAT_PROVIDER: { provider: 'openai' } }, /config AI_CHAT_PROVIDER is wrong: model: /],
    [
      { model: { provider: 'openai', model: 'x' } },
      /no usable config credentials or openai_CREDENTIALS \{apiKey\}/,
    ],
    [
      { model: { provider: 'openai', model: 'x' }, credentials: { apiKey: '••••' } },
      /no usable config credentials or openai_CREDENTIALS/,
    ],
    [
      { model: { provider: 'openai-compatible', model: 'x' } },
      /lacks baseUrl, which openai-compatible needs/,
    ],
    [
      { model: { provider: 'openai', model: 'x', baseUrl: 'file:///etc' } },
      /baseUrl: expected an http\(s\) URL/,
    ],
    [{ model: { provider: 'openai', model: 'x', baseUrl: '' } }, /baseUrl: expected an http\(s\) URL/],
    [
      { model: { provider: 'openai', model: 'x', baseUrl: 'https://me:secret@host' } },
      /baseUrl: expected a URL without user/,
    ],
    [{ model: { provider: 'openai', model: 'x', temperature: 9 } }, /temperature: /],
    [
      {
        model: { provider: 'openai', model: 'x', fallbacks: [{ provider: 'google', model: 'gemini' }] },
        credentials: { apiKey: 'k' },
      },
      /no usable config google_CREDENTIALS \{apiKey\} for google/,
    ],
  ] satisfies [Record<string, JsonObject>, RegExp][])(
    'of %j are missing, and it is said why',
    (configs, reason) => {
      const found = choicesOf(agent(configs), undefined)
      expect(found.kind === 'missing' ? found.reason : found).toMatch(reason)
    },
  )

  test('never get the deployment’s key with anything that a workspace configured', () => {
    const provider = fc.constantFrom('openai', 'anthropic', 'google', 'openai-compatible')
    const baseUrl = fc.constantFrom(undefined, null, 'https://api.openai.com/v1', 'https://thief.example/v1')
    const settings = fc.record({ provider, model: fc.constantFrom('a', 'theirs'), baseUrl })
    const key = fc.option(fc.record({ apiKey: fc.constantFrom('own-1', 'own-2') }), { nil: undefined })
    const configs = fc.record({
      model: fc.option(fc.tuple(settings, fc.array(settings, { maxLength: 3 })), { nil: undefined }),
      name: fc.constantFrom('model', 'AI_CHAT_PROVIDER'),
      credentials: key,
      openai: key,
      anthropic: key,
    })
    fc.assert(
      fc.property(configs, settings, ({ model, name, credentials, openai, anthropic }, own) => {
        const entries: [string, JsonObject | undefined][] = [
          [name, model && { ...model[0], fallbacks: model[1] }],
          ['credentials', credentials],
          ['openai_CREDENTIALS', openai],
          ['anthropic_CREDENTIALS', anthropic],
        ]
        const present = entries.filter((entry): entry is [string, JsonObject] => entry[1] !== undefined)
        const theirs = { ...own, apiKey: 'deployment-key' } as ModelChoice
        const found = choicesOf({ configs: new Map(present) }, theirs)
        for (const choice of found.kind === 'choices' ? found.choices : [])
          if (choice.apiKey === 'deployment-key') expect(choice).toBe(theirs)
        if (model !== undefined) expect(JSON.stringify(found)).not.toContain('deployment-key')
      }),
      { numRuns: 1_000 },
    )
  })

  test('send the key of credentials to the provider and base URL of the first model only', () => {
    const fallback = { provider: 'openai', model: 'x', baseUrl: 'https://other.example/v1' }
    const model = { provider: 'openai', model: 'x', fallbacks: [fallback] }
    expect(choices({ model, credentials: { apiKey: 'main' } })).toMatchObject([
      { apiKey: 'main' },
      expect.not.objectContaining({ apiKey: expect.anything() }),
    ])
  })
})

describe('the transcription model of an assistant', () => {
  test('has the key of where it goes', () => {
    const model = { provider: 'anthropic', model: 'claude' }
    const transcription = { provider: 'openai', model: 'whisper-1' }
    const own = { transcription, credentials: { apiKey: 'main' } }
    expect(transcriptionChoiceOf(agent(own))).toMatchObject({ choice: { apiKey: 'main' } })
    expect(transcriptionChoiceOf(agent({ ...own, model }))).toMatchObject({ kind: 'missing' })
    const both = { ...own, model, openai_CREDENTIALS: { apiKey: 'of openai' } }
    expect(transcriptionChoiceOf(agent(both))).toMatchObject({ choice: { apiKey: 'of openai' } })
    expect(transcriptionChoiceOf(agent({ model }))).toBeUndefined()
  })
})

describe('the deployment’s own model', () => {
  test('is what the environment says, or none', () => {
    expect(deploymentChoice({})).toBeUndefined()
    expect(
      deploymentChoice({
        MODEL_PROVIDER: 'openai-compatible',
        MODEL_NAME: 'm',
        MODEL_BASE_URL: 'http://models/v1',
      }),
    ).toEqual({
      ...{ provider: 'openai-compatible', model: 'm', baseUrl: 'http://models/v1' },
      isDeployments: true,
    })
  })

  test.each([
    [{ MODEL_NAME: 'm' }, 'MODEL_PROVIDER and MODEL_NAME'],
    [{ MODEL_PROVIDER: 'openai' as const }, 'MODEL_PROVIDER and MODEL_NAME'],
    [{ MODEL_PROVIDER: 'openai' as const, MODEL_NAME: 'm' }, 'MODEL_API_KEY: is required'],
    [{ MODEL_PROVIDER: 'openai-compatible' as const, MODEL_NAME: 'm' }, 'MODEL_BASE_URL: is required'],
  ])('of half an environment %j is an error', (environment, message) => {
    expect(() => deploymentChoice(environment)).toThrow(message)
  })
})
