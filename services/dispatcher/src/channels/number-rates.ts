import { channelNumber } from '@parley/shared/channel-settings'
import { FairSlots } from '@parley/shared/fair-slots'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { Rates } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { LRUCache } from 'lru-cache'
import type { Channel } from './channels.ts'
import type { HttpClient } from './http/http-client.ts'

const MAX_NUMBERS = 10_000
/** One workspace alone has eight. */
const LOOKUPS = { of: 'look-ups of numbers', total: 16, spare: 1 }
const LOOKUP_MS = 10_000
const MAX_BYTES = 16 * 1024
const DAY_MS = 24 * 60 * 60_000
/** After one that said nothing, or that said what was too fast. */
const AGAIN_MS = 10 * 60_000

/** How many sends a second each number may make. */
export interface NumberRates {
  /**
   * What the channel says, else what the provider said of the number. It looks the number up once a day, beside what is
   * sent meanwhile: while the first look-up is under way the least that a number has, and what is usual where none says it
   * or too many others are looked up.
   */
  perSecond(
    channel: Pick<Channel, 'config' | 'workspace'>,
    number: { key: string; provider: Provider; rates: Rates },
  ): number
  /** The provider said that a number was too fast: what is known of it may be out of date. */
  tooFast(key: string): void
}

interface Known {
  perSecond?: number
  /** Its first look-up is under way, for 10 s at most. */
  isAwaited?: boolean
  /** When it may be looked up again, by the monotonic clock. */
  nextAt: number
}

export function createNumberRates({
  http,
  now,
}: {
  http: Pick<HttpClient, 'send'>
  now: () => number
}): NumberRates {
  const known = new LRUCache<string, Known>({ max: MAX_NUMBERS })
  const slots = new FairSlots(LOOKUPS)
  const lookUp = async (
    channel: Pick<Channel, 'config'>,
    { provider, rates }: Asked,
  ): Promise<number | undefined> => {
    const found = sendSettings(provider, channel.config)
    if (rates.lookup === undefined || 'lacking' in found) return undefined
    const { request, read } = rates.lookup
    const call = { ...request(found.settings), timeoutMs: LOOKUP_MS, maxBytes: MAX_BYTES }
    return http.send(call).then(read, () => undefined)
  }
  const learn = async (channel: Pick<Channel, 'config'>, asked: Asked): Promise<void> => {
    const perSecond = await lookUp(channel, asked)
    const learned = perSecond === undefined ? known.get(asked.key) : { perSecond, nextAt: now() + DAY_MS }
    if (learned !== undefined) known.set(asked.key, { ...learned, isAwaited: false })
  }
  return {
    perSecond(channel, asked) {
      const said = channelNumber(channel.config, 'messagesPerSecond')
      if (said > 0) return said
      const { key, rates } = asked
      const entry = known.get(key)
      const release = (entry?.nextAt ?? 0) <= now() ? slots.take([channel.workspace]) : undefined
      if (release !== undefined) {
        known.set(key, { ...entry, isAwaited: entry === undefined, nextAt: now() + AGAIN_MS })
        void learn(channel, asked).finally(release)
      }
      const { perSecond, isAwaited = false } = known.get(key) ?? {}
      return perSecond ?? (isAwaited ? rates.lookup?.least : undefined) ?? rates.perSecond
    },
    tooFast(key) {
      const entry = known.get(key)
      if (entry !== undefined) known.set(key, { ...entry, nextAt: Math.min(entry.nextAt, now() + AGAIN_MS) })
    },
  }
}

type Asked = Parameters<NumberRates['perSecond']>[1]
