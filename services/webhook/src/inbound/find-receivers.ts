import { MAX_ID_CHARACTERS } from '@parley/shared/message'
import { Problem } from '@parley/shared/problem'
import type { Settings } from '@parley/shared/providers/setting'
import { withTimeout } from '@parley/shared/with-timeout'
import type { Channel, Channels } from '../channels.ts'
import { type Hook, isOfAnother } from './find-hook.ts'

/** Others than the address's own, of one payload. */
const MAX_RECEIVERS = 100
/** Of one receiver. */
const MAX_CHANNELS = 10
const FIND_MS = 2_500

/** The channels that updates are for, by the receiver that they name. */
export type Receivers = ReadonlyMap<string | undefined, Channel | undefined>

/**
 * The channels that updates are for, by the receiver that they name: the address's own where it is its, or where none is
 * named; else the first of the workspace's with that receiver to whose secret the payload is proven as well; undefined
 * where there is none. An address whose channel does not say what names it takes what is no other's. What is not known
 * within 2.5 s is in none of them, and `failure` says why. Throws `body_too_large` for more than 100 receivers.
 */
export async function findReceivers(options: {
  named: ReadonlySet<string | undefined>
  hook: Hook
  settings: Settings
  channels: Pick<Channels, 'ofReceiver'>
  isProvenTo(channel: Channel): boolean
}): Promise<{ receivers: Receivers; failure: unknown }> {
  const { named, hook, settings, channels, isProvenTo } = options
  const { channel, provider } = hook
  const setting = provider.inbound.receiver
  const own = setting === undefined ? undefined : settings[setting]
  const others = [...named].filter((one): one is string => one !== undefined && one !== own)
  if (others.length > MAX_RECEIVERS)
    throw new Problem('body_too_large', { detail: `At most ${MAX_RECEIVERS} receivers are taken.` })
  const fallback = own === undefined ? channel : undefined
  const find = async (receiver: string) => {
    if (receiver.length > MAX_ID_CHARACTERS || !receiver.isWellFormed()) return undefined
    const found = await channels.ofReceiver(channel.workspace, provider.name, receiver)
    return found
      .filter((one) => !isOfAnother(one, provider.name))
      .slice(0, MAX_CHANNELS)
      .find(isProvenTo)
  }
  const receivers = new Map<string | undefined, Channel | undefined>([
    [undefined, channel],
    [own, channel],
  ])
  let failure: unknown
  const look = async (receiver: string) => {
    try {
      receivers.set(receiver, (await withTimeout(FIND_MS, find(receiver))) ?? fallback)
    } catch (error) {
      if (fallback === undefined) failure = error
      else receivers.set(receiver, fallback)
    }
  }
  await Promise.all(others.map(look))
  return { receivers, failure }
}
