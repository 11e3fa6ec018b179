import { allProviders } from '@parley/shared/providers/registry'
import { me } from './rights.ts'

const DIGITS = 15
const RANDOM_BYTES = 18

/** Where this installation has a simulator of providers; undefined where it has none. */
export const simulatorUrl = (): string | undefined => me.get()?.simulatorUrl

/** A channel by a number of its own of the simulator's, to which anybody may be written. */
export function simulatedChannel(
  url: string,
  { config = {}, ...channel }: { name: string; extId: string; handlerUrl: string; config?: object },
): object {
  const provider = allProviders().find(({ simulated }) => simulated !== undefined)
  const generated = (provider?.settings ?? []).flatMap(({ key, isGenerated }) =>
    isGenerated ? [[key, randomText()]] : [],
  )
  return {
    ...{ description: channel.name, hook: provider?.name, callback: provider?.name, ...channel },
    config: { ...provider?.simulated?.(url, randomNumber()), ...Object.fromEntries(generated), ...config },
  }
}

const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count))

const randomNumber = (): string => Array.from(randomBytes(DIGITS), (byte) => (byte % 9) + 1).join('')

/** A text that nobody guesses. */
export const randomText = (): string =>
  Array.from(randomBytes(RANDOM_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('')
