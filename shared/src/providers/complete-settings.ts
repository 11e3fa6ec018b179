import { z } from 'zod'
import type { Provider } from './provider.ts'
import type { Settings } from './settings.ts'

/** What a channel has of what a provider needs to send, or what it lacks: the keys of its `config`. */
export type SendSettings = { settings: Settings } | { lacking: string[] }

const schemas = new WeakMap<Provider, z.ZodObject>()

/** The settings that sending takes, each of its kind; they come opened. */
export function sendSettings(provider: Provider, config: Readonly<Record<string, unknown>>): SendSettings {
  const schema = schemas.get(provider) ?? schemaOf(provider)
  schemas.set(provider, schema)
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
