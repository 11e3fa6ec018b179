import { MODEL_PROVIDERS } from './provider-addresses.ts'

/** The type of a setting, in terms of JSON Schema. */
interface Setting {
  type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  enum?: readonly string[]
  minimum?: number
  maximum?: number
}

type Settings = Readonly<Record<string, Setting>>

/** Of a model, and of each of its fallbacks. */
export const MODEL_SETTINGS = {
  provider: { type: 'string', enum: MODEL_PROVIDERS },
  model: { type: 'string' },
  baseUrl: { type: 'string' },
  temperature: { type: 'number', minimum: 0 },
  maxOutputTokens: { type: 'integer', minimum: 1 },
  vision: { type: 'boolean' },
  reasoning: { type: 'boolean' },
} as const satisfies Settings

/** Of how an action is called. */
export const ACTION_SETTINGS = {
  operations: { type: 'array' },
  idempotent: { type: 'boolean' },
  timeoutSeconds: { type: 'number', minimum: 1, maximum: 120 },
  signedContext: { type: 'boolean' },
  'x-parley-value': { type: 'object' },
} as const satisfies Settings

const WITH_FALLBACKS: Settings = { ...MODEL_SETTINGS, fallbacks: { type: 'array' } }
const OF_ASSISTANTS: Readonly<Record<string, Settings>> = {
  ...{ model: WITH_FALLBACKS, ai_chat_provider: WITH_FALLBACKS, transcription: WITH_FALLBACKS },
  ...{ credentials: { apiKey: { type: 'string' } }, workflows: { ids: { type: 'array' } } },
}
const CREDENTIALS: Settings = {
  ...{ apiKey: { type: 'string' }, token: { type: 'string' } },
  ...{ username: { type: 'string' }, password: { type: 'string' }, oauth: { type: 'object' } },
}

/** The settings that are read in the value of a config; undefined where it is free-form. */
export function configSettings({
  name,
  ownerType,
}: {
  name: string
  ownerType: string
}): Settings | undefined {
  if (/^actions?$/.test(ownerType)) return name === 'credentials' ? CREDENTIALS : ACTION_SETTINGS
  if (!/^assistants?$/.test(ownerType)) return undefined
  const plain = name.toLowerCase().replaceAll('-', '_')
  return Object.hasOwn(OF_ASSISTANTS, plain) ? OF_ASSISTANTS[plain] : undefined
}
