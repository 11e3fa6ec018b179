import { isSealed, type SecretBox } from '@parley/shared/sealed-value'
import type { Channel } from './channel-copy.ts'

/** The text that a channel's configuration has under `key`, opened where it is sealed; undefined without one. */
export function configText(
  { config, workspace }: Channel,
  key: 'verifyToken' | 'appSecret',
  box: Pick<SecretBox, 'open'>,
): string | undefined {
  const value = Object.hasOwn(config, key) ? config[key] : undefined
  const text = typeof value === 'string' && isSealed(value) ? box.open(value, workspace) : value
  return typeof text === 'string' && text !== '' ? text : undefined
}
