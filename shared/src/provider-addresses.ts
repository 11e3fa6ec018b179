/** The providers of language models. */
export const MODEL_PROVIDERS = ['openai', 'anthropic', 'google', 'openai-compatible'] as const
export type ModelProvider = (typeof MODEL_PROVIDERS)[number]

/** Where each provider's API is when no other base URL is given; undefined where it can be anywhere. */
export const BASE_URLS: Record<ModelProvider, string | undefined> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': undefined,
}
