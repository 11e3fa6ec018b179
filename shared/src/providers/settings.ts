import type { JsonObject } from '../json-object.ts'

/** One setting of a channel's `config`. */
export interface Setting {
  /** Its key in `config`. */
  key: string
  label: string
  kind: 'text' | 'url'
  /** Where people find it, or what it is for. */
  note: string
  /** What does not work without it; people are asked only for what is needed to send or receive. */
  neededTo: 'send' | 'receive' | 'check'
  /** It may be left out, and then is `fallback`, or what it is for does not work. */
  isOptional?: true
  fallback?: string
  /** It is sealed where it is stored, and shown to nobody who may not write the channel. */
  isSecret?: true
  /** The setting with the address that this secret is sent to; it goes to no other. */
  sentTo?: string
  /** Nobody is asked for it: whoever sets up a channel makes a random one. */
  isGenerated?: true
  /** What to know when it is replaced. */
  replacing?: string
  /** What does not work without it, as a sentence. */
  missing?: string
}

/** The settings of one channel, as texts; what it does not have is undefined. */
export type Settings = Readonly<Record<string, string | undefined>>

/**
 * The settings of a channel that something needs, as texts; secrets of others are not looked at. `open` makes the text of
 * one that is sealed.
 */
export function settingsFor(
  need: Setting['neededTo'],
  { settings }: { settings: readonly Setting[] },
  { config, open }: { config: JsonObject; open(text: string): string | undefined },
): Settings {
  const found: Record<string, string | undefined> = {}
  for (const { key, neededTo, isSecret, fallback } of settings) {
    if (isSecret && neededTo !== need) continue
    const value = Object.hasOwn(config, key) ? config[key] : undefined
    const text = typeof value === 'number' && !isSecret ? String(value) : value
    const opened = typeof text === 'string' ? open(text) : undefined
    found[key] = opened || fallback
  }
  return found
}
