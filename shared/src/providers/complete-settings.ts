import { z } from 'zod'
import type { Provider } from './provider.ts'
import type { Settings } from './setting.ts'

/** The settings that a channel's provider needs to send, or those that it lacks: the keys of its `config`. */
type SendSettings = { settings: Settings } | { lacking: string[] }

interface Reader {
  schema: z.ZodObject
  /** A config is read once. */
  read: WeakMap<object, SendSettings>
}

const readers = new WeakMap<Provider, Reader>()

/** The settings that sending takes, each of its kind; they come opened, in a config that nobody changes. */
export function sendSettings(provider: Provider, config: Readonly<Record<string, unknown>>): SendSettings {
  const reader = readers.get(provider) ?? { schema: schemaOf(provider), read: new WeakMap() }
  readers.set(provider, reader)
  const settings = reader.read.get(config) ?? settingsIn(config, reader.schema)
  reader.read.set(config, settings)
  return settings
}

function settingsIn(config: Readonly<Record<string, unknown>>, schema: z.ZodObject): SendSettings {
  const { data, error } = schema.safeParse(config)
  if (data !== undefined) return { settings: data as Settings }
  return { lacking: error.issues.map(({ path }) => `config.${path.join('.')}`) }
}

function schemaOf({ settings }: Provider): z.ZodObject {
  const fields = settings
    .filter(({ neededTo }) => neededTo === 'send')
    .map(({ key, kind, isOptional, fallback }) => {
      const text = kind === 'url' ? z.url({ protocol: /^https?$/ }) : z.string().min(1)
      if (fallback !== undefined) return [key, text.default(fallback)] as const
      return [key, isOptional ? text.optional() : text] as const
    })
  return z.object(Object.fromEntries(fields))
}
