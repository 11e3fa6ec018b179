import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible'
import { jsonOrUndefined } from '@parley/shared/parse-json'
import { BASE_URLS } from '@parley/shared/provider-addresses'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { BodyForm, Bounding } from '../../channels/http/bounded-response.ts'
import type { BoundingFetch } from '../../channels/http/guarded-fetch.ts'
import type { Change } from '../../channels/http/pieces.ts'
import { type ResponseBounds, ResponseCount } from '../../channels/http/response-bounds.ts'
import { retainingNumbers } from '../exact-responses.ts'
import type { ModelChoice } from '../model-client.ts'
import { withArgumentTexts } from './call-arguments.ts'

/** A language model of the AI SDK: one call is one request. */
export type LanguageModel = ReturnType<OpenAICompatibleProvider['languageModel']>
export type ModelCall = Parameters<LanguageModel['doGenerate']>[0]

const MAX_MODELS = 200

/** Of a stream: its text and its calls are counted while it is read, its thoughts are not. */
const STREAM_BOUNDS: ResponseBounds = {
  bytes: 5 * 1024 * 1024,
  lines: 128 * 1024,
  events: 32 * 1024,
  eventBytes: 256 * 1024,
  nodes: 4_000,
  outerNodes: 1_000,
  repeatedNodes: 40_000,
  depth: 64,
}
/** OpenAI repeats the tools in some events. */
const OPENAI_STREAM_BOUNDS: ResponseBounds = { ...STREAM_BOUNDS, eventBytes: 1024 * 1024 }
const TEXT_BOUNDS: ResponseBounds = { ...STREAM_BOUNDS, bytes: 2 * 1024 * 1024 }
/** With when each segment of hours of audio was said, and by which tokens. */
const TRANSCRIPT_BOUNDS: ResponseBounds = { ...TEXT_BOUNDS, nodes: 100_000, outerNodes: 20_000 }

/** A fetch for one form of answers: the SDK reads all that are no errors as what it asked for, whatever their type is. */
function boundedFetch(
  fetch: BoundingFetch,
  asked: BodyForm,
  provider: ModelChoice['provider'],
): typeof globalThis.fetch {
  const streamBounds = provider === 'openai' ? OPENAI_STREAM_BOUNDS : STREAM_BOUNDS
  const change = CHANGES[provider]
  const bounding = (isOk: boolean): Bounding => {
    const form = isOk ? asked : 'text'
    return { form, count: new ResponseCount(form === 'events' ? streamBounds : TEXT_BOUNDS), change }
  }
  return (input, init) => fetch(input, { ...init, bounding })
}

/** The changes that are made to a provider's answers for the SDK. */
const CHANGES: Record<ModelChoice['provider'], Change | undefined> = {
  openai: undefined,
  anthropic: retainingNumbers(['input']),
  google: retainingNumbers(['args']),
  'openai-compatible': withArgumentTexts,
}

/**
 * A fetch for OpenAI's transcripts, of which the text alone is passed on: the SDK checks each segment and token of the
 * rest, which nobody looks at.
 */
function transcriptFetch(fetch: BoundingFetch): typeof globalThis.fetch {
  const bounding = (isOk: boolean): Bounding => ({
    form: 'text',
    count: new ResponseCount(isOk ? TRANSCRIPT_BOUNDS : TEXT_BOUNDS),
  })
  return async (input, init) => {
    const response = await fetch(input, { ...init, bounding })
    if (!response.ok) return response
    const { data } = transcript.safeParse(jsonOrUndefined(await response.text()))
    return Response.json(data ?? {}, { status: response.status })
  }
}

const transcript = z.object({ text: z.string() })

/** The model of a choice. What the SDK makes for one takes longer than a turn of it, so those last used are cached. */
export function createLanguageModels(
  given: BoundingFetch,
  form: BodyForm,
): (choice: ModelChoice) => Promise<LanguageModel> {
  const models = new LRUCache<string, LanguageModel>({ max: MAX_MODELS })
  return async (choice) => {
    const { provider, model, baseUrl, apiKey } = choice
    const key = JSON.stringify([provider, model, baseUrl, apiKey])
    const known = models.get(key)
    if (known !== undefined) return known
    const made = await languageModelOf(choice, boundedFetch(given, form, provider))
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
      return (await import('@ai-sdk/anthropic')).createAnthropic(settings).languageModel(model)
    case 'google':
      return (await import('@ai-sdk/google')).createGoogle(settings).languageModel(model)
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
export async function transcriptionModelOf(choice: ModelChoice, given: BoundingFetch) {
  const settings = { baseURL: baseUrlOf(choice), apiKey: choice.apiKey ?? '' }
  switch (choice.provider) {
    case 'openai':
    case 'openai-compatible': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ ...settings, fetch: transcriptFetch(given) }).transcription(choice.model)
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ ...settings, fetch: boundedFetch(given, 'text', choice.provider) }).transcription(
        choice.model,
      )
    }
    case 'anthropic':
      return undefined
  }
}

function baseUrlOf({ provider, baseUrl }: ModelChoice): string {
  const url = baseUrl ?? BASE_URLS[provider]
  if (url === undefined) throw new Error(`${provider} needs a base URL`)
  return url
}
