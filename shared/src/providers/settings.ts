import type { JsonObject } from '../json-object.ts'
import type { Setting, Settings } from './setting.ts'

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
