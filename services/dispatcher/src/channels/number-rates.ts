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
   * What the channel says, else what the provider said of the number, else what is usual. It looks the number up once a
   * day, beside what is sent meanwhile.
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
  const lookUp = async (channel: Pick<Channel, 'config'>, { key, provider, rates }: Asked): Promise<void> => {
    const found = sendSettings(provider, channel.config)
    if (rates.lookup === undefined || 'lacking' in found) return
    const { request, read } = rates.lookup
    const call = { ...request(found.settings), timeoutMs: LOOKUP_MS, maxBytes: MAX_BYTES }
    const perSecond = await http.send(call).then(read, () => undefined)
    if (perSecond !== undefined) known.set(key, { perSecond, nextAt: now() + DAY_MS })
  }
  return {
    perSecond(channel, asked) {
      const said = channelNumber(channel.config, 'messagesPerSecond')
      if (said > 0) return said
      const { key, rates } = asked
      const entry = known.get(key)
      const release = (entry?.nextAt ?? 0) <= now() ? slots.take([channel.workspace]) : undefined
      if (release !== undefined) {
        known.set(key, { ...entry, nextAt: now() + AGAIN_MS })
        void lookUp(channel, asked).finally(release)
      }
      return known.get(key)?.perSecond ?? rates.perSecond
    },
    tooFast(key) {
      const entry = known.get(key)
      if (entry !== undefined) known.set(key, { ...entry, nextAt: Math.min(entry.nextAt, now() + AGAIN_MS) })
    },
  }
}

type Asked = Parameters<NumberRates['perSecond']>[1]
