import { CREDENTIALS_CONFIG } from '@parley/shared/documents/assistant'
import { jsonObject } from '@parley/shared/json-object'
import { BASE_URLS, MODEL_PROVIDERS, type ModelProvider } from '@parley/shared/provider-addresses'

const MODEL_CONFIGS = ['model', 'AI_CHAT_PROVIDER']
const TRANSCRIPTION_CONFIG = 'transcription'
const MAX_FALLBACKS = 5

/** A config by what it is used as. */
interface NamedConfig {
  name: string
  value: unknown
}

interface Endpoint {
  provider: ModelProvider
  origin: string
}

/** The case of a name does not matter, and `-` and `_` are one. */
const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_')

const PROVIDER_CREDENTIALS = new Map(
  MODEL_PROVIDERS.map((provider) => [plain(`${provider}_CREDENTIALS`), provider] as const),
)

/** True if a config of this name has keys that are sent somewhere. */
export const isCredentials = (name: unknown): boolean =>
  name === CREDENTIALS_CONFIG || PROVIDER_CREDENTIALS.has(plain(String(name)))

/** True if a config of this name contains the address of a model. */
export const isModel = (name: unknown): boolean =>
  name === TRANSCRIPTION_CONFIG || MODEL_CONFIGS.some((known) => plain(known) === plain(String(name)))

/**
 * The origins that the models of an assistant have for its credentials of this name, by the configs in the order in
 * which the assistant takes them: `credentials` is for where its first model is, `<provider>_CREDENTIALS` for each
 * model of that provider.
 */
export function modelOrigins(name: string, configs: readonly NamedConfig[]): string[] {
  const model = MODEL_CONFIGS.map((known) => configs.find((one) => plain(one.name) === plain(known))).find(
    (found) => found !== undefined,
  )
  const settings = jsonObject.safeParse(model?.value).data
  const primary = endpointOf(settings)
  const heard = endpointOf(configs.find((one) => one.name === TRANSCRIPTION_CONFIG)?.value)
  if (name === CREDENTIALS_CONFIG) return originsOf([primary ?? heard])
  const fallbacks = Array.isArray(settings?.fallbacks) ? settings.fallbacks.slice(0, MAX_FALLBACKS) : []
  const provider = PROVIDER_CREDENTIALS.get(plain(name))
  const all = [primary, ...fallbacks.map(endpointOf), heard]
  return originsOf(all.filter((endpoint) => endpoint?.provider === provider))
}

const originsOf = (endpoints: readonly (Endpoint | undefined)[]): string[] => [
  ...new Set(endpoints.flatMap((endpoint) => endpoint?.origin ?? [])),
]

function endpointOf(value: unknown): Endpoint | undefined {
  const settings = jsonObject.safeParse(value).data
  const named = String(settings?.provider).toLowerCase()
  const provider = MODEL_PROVIDERS.find((known) => known === named)
  if (provider === undefined) return undefined
  const url = settings?.baseUrl ?? BASE_URLS[provider]
  return typeof url === 'string' && URL.canParse(url) ? { provider, origin: new URL(url).origin } : undefined
}
