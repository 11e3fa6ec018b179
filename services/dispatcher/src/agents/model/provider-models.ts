import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible'
import { BASE_URLS } from '@parley/shared/provider-addresses'
import { LRUCache } from 'lru-cache'
import { retainingNumbers } from '../exact-responses.ts'
import type { ModelChoice } from '../model-client.ts'

/** A language model of the AI SDK: one call is one request. */
export type LanguageModel = ReturnType<OpenAICompatibleProvider['languageModel']>
export type ModelCall = Parameters<LanguageModel['doGenerate']>[0]

const MAX_MODELS = 200

/** The model of a choice. What the SDK makes for one takes longer than a turn of it, so those last used are cached. */
export function createLanguageModels(
  fetch: typeof globalThis.fetch,
): (choice: ModelChoice) => Promise<LanguageModel> {
  const models = new LRUCache<string, LanguageModel>({ max: MAX_MODELS })
  return async (choice) => {
    const { provider, model, baseUrl, apiKey } = choice
    const key = JSON.stringify([provider, model, baseUrl, apiKey])
    const known = models.get(key)
    if (known !== undefined) return known
    const made = await languageModelOf(choice, fetch)
    models.set(key, made)
    return made
  }
}

/**
 * Providers are loaded when they are first needed. Key and base URL are always given, since the SDK would take those of
 * the environment in their place.
 */
async function languageModelOf(choice: ModelChoice, fetch: typeof globalThis.fetch): Promise<LanguageModel> {
  const { provider, model } = choice
  const settings = { baseURL: baseUrlOf(choice), apiKey: choice.apiKey ?? '', fetch }
  switch (provider) {
    case 'openai':
      return (await import('@ai-sdk/openai')).createOpenAI(settings).responses(model)
    case 'anthropic':
      return (await import('@ai-sdk/anthropic'))
        .createAnthropic({ ...settings, fetch: retainingNumbers(fetch, ['input']) })
        .languageModel(model)
    case 'google':
      return (await import('@ai-sdk/google'))
        .createGoogle({ ...settings, fetch: retainingNumbers(fetch, ['args']) })
        .languageModel(model)
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { apiKey, ...others } = settings
      // Without a key nothing is sent for one; `usage` is in a stream only when it is asked for.
      const key = apiKey === '' ? {} : { apiKey }
      return createOpenAICompatible({
        ...others,
        ...key,
        name: 'openai-compatible',
        includeUsage: true,
      }).chatModel(model)
    }
  }
}

/** A transcription model of a choice; undefined where the provider has none. */
export async function transcriptionModelOf(choice: ModelChoice, fetch: typeof globalThis.fetch) {
  const settings = { baseURL: baseUrlOf(choice), apiKey: choice.apiKey ?? '', fetch }
  switch (choice.provider) {
    case 'openai':
    case 'openai-compatible':
      return (await import('@ai-sdk/openai')).createOpenAI(settings).transcription(choice.model)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle(settings).transcription(choice.model)
    case 'anthropic':
      return undefined
  }
}

function baseUrlOf({ provider, baseUrl }: ModelChoice): string {
  const url = baseUrl ?? BASE_URLS[provider]
  if (url === undefined) throw new Error(`${provider} needs a base URL`)
  return url
}
