import type { JsonObject } from '@parley/shared/json-object'
import { BASE_URLS, MODEL_PROVIDERS } from '@parley/shared/provider-addresses'
import { MASK } from '@parley/shared/secret-names'
import { z } from 'zod'
import { reasonToWithhold } from '../../channels/http/bound-credentials.ts'
import type { Agent } from '../agent.ts'
import type { ModelChoice } from '../model-client.ts'

const MAX_FALLBACKS = 5

const provider = z.preprocess(
  (value) => (typeof value === 'string' ? value.toLowerCase() : value),
  z.enum(MODEL_PROVIDERS, { error: `expected one of ${MODEL_PROVIDERS.join(', ')}` }),
)
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http(s) URL', abort: true })
  .max(2_048)
  .refine((text) => {
    const { username, password, search, hash } = new URL(text)
    return username + password + search + hash === ''
  }, 'expected a URL without user, query and fragment')
  .transform((text) => text.replace(/\/{1,8}$/, ''))

/** A model as `model`, one of its fallbacks, or `transcription` names it. */
const modelSettings = z.object({
  provider,
  model: z.string().min(1).max(200),
  baseUrl: baseUrl.nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  maxOutputTokens: z.int().min(1).max(1_000_000).nullish(),
  vision: z.boolean().nullish(),
  reasoning: z.boolean().nullish(),
})
type ModelSettings = z.output<typeof modelSettings>

const modelConfig = modelSettings.extend({ fallbacks: z.array(modelSettings).max(MAX_FALLBACKS).nullish() })

type Configs = Pick<Agent, 'configs' | 'origins'>
type Missing = { kind: 'missing'; reason: string }

/**
 * The models that answer for an assistant, the fallbacks after the first: those of its configs `model` and `credentials`
 * (also as `AI_CHAT_PROVIDER` and `<provider>_CREDENTIALS`), else the deployment's. The deployment's key goes nowhere
 * but to the deployment's own choice.
 */
export function choicesOf(
  agent: Configs,
  deployment: ModelChoice | undefined,
): { kind: 'choices'; choices: ModelChoice[] } | Missing {
  const found = firstOf(agent.configs, ['model', 'AI_CHAT_PROVIDER'])
  if (found === undefined) {
    if (deployment !== undefined) return { kind: 'choices', choices: [deployment] }
    return missing(
      'The assistant has no config model {provider, model}, and the deployment has no model of its own.',
    )
  }
  const settings = modelConfig.safeParse(found.value)
  if (!settings.success) return missing(`The config ${found.name} is wrong: ${issueOf(settings.error)}.`)
  const { fallbacks, ...first } = settings.data
  const choices: ModelChoice[] = []
  for (const one of [first, ...(fallbacks ?? [])]) {
    const choice = choiceOf(one, { agent, first, name: found.name })
    if (choice.kind === 'missing') return choice
    choices.push(choice.choice)
  }
  return { kind: 'choices', choices }
}

/** The model that hears for an assistant, by its config `transcription` {provider, model}; undefined when it has none. */
export function transcriptionChoiceOf(
  agent: Configs,
): { kind: 'choice'; choice: ModelChoice } | Missing | undefined {
  const { configs } = agent
  const value = configs.get('transcription')
  if (value === undefined) return undefined
  const settings = modelSettings.safeParse(value)
  if (!settings.success) return missing(`The config transcription is wrong: ${issueOf(settings.error)}.`)
  const primary = modelConfig.safeParse(firstOf(configs, ['model', 'AI_CHAT_PROVIDER'])?.value)
  const first = primary.success ? primary.data : settings.data
  return choiceOf(settings.data, { agent, first, name: 'transcription' })
}

/** The deployment's own model, from its environment; undefined when it has none. Throws when a part of it is missing. */
export function deploymentChoice(environment: {
  MODEL_PROVIDER?: ModelChoice['provider'] | undefined
  MODEL_NAME?: string | undefined
  MODEL_BASE_URL?: string | undefined
  MODEL_API_KEY?: string | undefined
  MODEL_REASONING?: 'true' | 'false' | undefined
}): ModelChoice | undefined {
  const { MODEL_PROVIDER, MODEL_NAME, MODEL_BASE_URL, MODEL_API_KEY } = environment
  if (MODEL_PROVIDER === undefined && MODEL_NAME === undefined) return undefined
  if (MODEL_PROVIDER === undefined || MODEL_NAME === undefined)
    throw new Error('MODEL_PROVIDER and MODEL_NAME: set both, or neither')
  const needed = neededFor({ provider: MODEL_PROVIDER, baseUrl: MODEL_BASE_URL, key: MODEL_API_KEY })
  if (needed !== undefined)
    throw new Error(
      `${needed === 'baseUrl' ? 'MODEL_BASE_URL' : 'MODEL_API_KEY'}: is required with ${MODEL_PROVIDER}`,
    )
  return {
    provider: MODEL_PROVIDER,
    model: MODEL_NAME,
    ...(MODEL_BASE_URL !== undefined && { baseUrl: MODEL_BASE_URL }),
    ...(MODEL_API_KEY !== undefined && { apiKey: MODEL_API_KEY }),
    ...(readsImages(MODEL_PROVIDER) && { vision: true }),
    ...(environment.MODEL_REASONING === 'false' && { reasoning: false }),
    isDeployments: true,
  }
}

/** The name of the config with a provider's own key. */
const credentialsName = (provider: ModelChoice['provider']): string => `${provider}_CREDENTIALS`

function choiceOf(
  settings: ModelSettings,
  { agent, first, name }: { agent: Configs; first: ModelSettings; name: string },
): { kind: 'choice'; choice: ModelChoice } | Missing {
  const { provider, model, baseUrl, temperature, maxOutputTokens } = settings
  const found = keyFor(settings, { agent, first })
  const url = addressOf(settings)
  const withheld =
    found && url && reasonToWithhold(`The key in config ${found.name}`, agent.origins?.get(found.name), url)
  if (withheld) return missing(withheld)
  const key = found?.key
  const needed = neededFor({ provider, baseUrl, key })
  if (needed === 'baseUrl') return missing(`The config ${name} lacks baseUrl, which ${provider} needs.`)
  if (needed === 'key') {
    const names = isSameEndpoint(settings, first)
      ? `credentials or ${credentialsName(provider)}`
      : credentialsName(provider)
    return missing(`The assistant has no usable config ${names} {apiKey} for ${provider}.`)
  }
  return {
    kind: 'choice',
    choice: {
      provider,
      model,
      ...(baseUrl != null && { baseUrl }),
      ...(key !== undefined && { apiKey: key }),
      ...(temperature != null && { temperature }),
      ...(maxOutputTokens != null && { maxOutputTokens }),
      ...((settings.vision ?? readsImages(provider)) && { vision: true }),
      ...(settings.reasoning != null && { reasoning: settings.reasoning }),
    },
  }
}

/** `credentials` is for where the first model is; for anything else there is only the provider's own key. */
function keyFor(
  settings: ModelSettings,
  { agent: { configs }, first }: { agent: Configs; first: ModelSettings },
): { name: string; key: string } | undefined {
  const own = isSameEndpoint(settings, first) ? keyIn(configs.get('credentials')) : undefined
  if (own !== undefined) return { name: 'credentials', key: own }
  const found = firstOf(configs, [credentialsName(settings.provider)])
  const key = keyIn(found?.value)
  return found && key !== undefined ? { name: found.name, key } : undefined
}

/** The models of these providers do; behind any other address there may be one that refuses images. */
function readsImages(provider: ModelChoice['provider']): boolean {
  return provider !== 'openai-compatible'
}

const addressOf = ({ provider, baseUrl }: ModelSettings): string | undefined => baseUrl ?? BASE_URLS[provider]

function isSameEndpoint(one: ModelSettings, other: ModelSettings): boolean {
  return one.provider === other.provider && addressOf(one) === addressOf(other)
}

const credentials = z.object({ apiKey: z.string().min(1).max(4_096) })

/** Returns the API key in a config; a value that can't be opened is no key. */
function keyIn(value: JsonObject | undefined): string | undefined {
  const { data } = credentials.safeParse(value)
  return data === undefined || data.apiKey === MASK ? undefined : data.apiKey
}

/** Returns the settings that a call of a model needs: self-hosted servers may ask for no key. */
function neededFor(options: {
  provider: ModelChoice['provider']
  baseUrl: string | null | undefined
  key: string | undefined
}): 'baseUrl' | 'key' | undefined {
  const { provider, baseUrl, key } = options
  if (baseUrl == null && BASE_URLS[provider] === undefined) return 'baseUrl'
  return baseUrl == null && key === undefined ? 'key' : undefined
}

/** The first of these configs, whatever the case of its name; `-` and `_` are one. */
function firstOf(
  configs: Agent['configs'],
  names: string[],
): { name: string; value: JsonObject } | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll('-', '_')
  for (const name of names)
    for (const [own, value] of configs) if (plain(own) === plain(name)) return { name: own, value }
  return undefined
}

function issueOf(error: z.ZodError): string {
  const [issue] = error.issues
  const path = issue?.path.join('.') ?? ''
  return `${path === '' ? '' : `${path}: `}${issue?.message.replace(/^Invalid input: /, '') ?? 'not as expected'}`
}

const missing = (reason: string): Missing => ({ kind: 'missing', reason })
