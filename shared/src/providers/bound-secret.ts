import { allProviders, providerNamed } from './registry.ts'

/** A secret of a channel that goes to one address alone. */
interface BoundSecret {
  /** Its key in `config`. */
  key: string
  /** The address; empty where the channel has something else in its place. */
  url: string
}

type AnyChannel = { hook: unknown; callback: unknown; config: unknown } | Readonly<Record<string, unknown>>

/**
 * The secret of a channel that its provider is called with, and where it is sent; undefined where it has none. A channel
 * may have one of a provider that it does not name, whose media it has.
 */
export function boundSecretOf(channel: AnyChannel): BoundSecret | undefined {
  const config = (channel.config ?? {}) as Readonly<Record<string, unknown>>
  const named = [channel.callback, channel.hook].flatMap((name) => providerNamed(name) ?? [])
  for (const { settings } of [...named, ...allProviders()]) {
    const secret = settings.find(({ key, sentTo }) => sentTo !== undefined && Object.hasOwn(config, key))
    if (secret === undefined) continue
    const address = settings.find(({ key }) => key === secret.sentTo)
    const url = config[secret.sentTo ?? ''] ?? address?.fallback
    return { key: secret.key, url: typeof url === 'string' ? url : '' }
  }
  return undefined
}
