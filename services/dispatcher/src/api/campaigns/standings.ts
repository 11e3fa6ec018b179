import { channelNumber } from '@parley/shared/channel-settings'
import { jsonOrUndefined, parseExact } from '@parley/shared/parse-json'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { Standing } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Channel, Channels } from '../../channels/channels.ts'
import type { HttpClient } from '../../channels/http/http-client.ts'
import type { Collections } from '../../store/collections.ts'

/** A channel by its external id, and from when on what happened at its provider counts. */
export const standingQuery = z.object({ channel: z.string().max(1_024), since: z.iso.datetime() })

const MAX_NUMBERS = 1_000
const FRESH_MS = 10 * 60_000
const LOOKUP_MS = 10_000
const MAX_BYTES = 16 * 1024
const MAX_NOTICES = 200
const QUERY_MS = 2_000

/** What a channel's number may send at the moment. */
export interface Standings {
  read(workspace: number, asked: z.output<typeof standingQuery>): Promise<object>
}

interface LookedUp {
  at: Date
  peopleADay?: number | null | undefined
  perSecond?: number | undefined
}

/** Asks the provider about a number once in ten minutes, and reads what its notices have changed since. */
export function createStandings({
  collections,
  channels,
  http,
}: {
  collections: Pick<Collections, 'notices'>
  channels: Channels
  http: Pick<HttpClient, 'send'>
}): Standings {
  const lookedUp = new LRUCache<string, LookedUp, { channel: Channel; provider: Provider }>({
    max: MAX_NUMBERS,
    ttl: FRESH_MS,
    ignoreFetchAbort: true,
    fetchMethod: (_key, _last, { context }) => lookUp(http, context),
  })
  return {
    async read(workspace, { channel: extId, since }) {
      const channel = await channels.find(workspace, extId)
      const provider = providerNamed(channel?.callback)
      if (channel === undefined) return { hasChannel: false }
      if (provider === undefined) return { hasChannel: true }
      const { rates, standing } = provider.outbound
      const settings = sendSettings(provider, channel.config)
      const number = 'lacking' in settings ? undefined : rates?.keyOf(settings.settings)
      const account = 'lacking' in settings ? undefined : (settings.settings.businessAccountId ?? number)
      const context = { channel, provider }
      const found = await lookedUp.fetch(`${workspace}/${channel._id}/${number}`, { context })
      const from = new Date(since)
      // What the number may send does not end with a campaign: it counts from when the provider was asked.
      const first = found === undefined || from < found.at ? from : found.at
      const notices = await collections.notices
        .find({ workspace, channelId: channel._id, receivedAt: { $gte: first } }, { maxTimeMS: QUERY_MS })
        .sort({ receivedAt: 1, _id: 1 })
        .limit(MAX_NOTICES)
        .toArray()
      const changes = notices.flatMap(({ field, value, receivedAt }) => {
        const change = standing?.ofNotice(field, parseExact(value))
        if (change === undefined) return []
        const { peopleADay } = change
        return receivedAt >= from ? change : peopleADay === undefined ? [] : { peopleADay }
      })
      return { hasChannel: true, account, ...summaryOf(found, changes), perSecond: rateOf(context, found) }
    },
  }
}

function rateOf({ channel, provider }: { channel: Channel; provider: Provider }, found?: LookedUp) {
  const said = channelNumber(channel.config, 'messagesPerSecond')
  return said > 0 ? said : (found?.perSecond ?? provider.outbound.rates?.perSecond)
}

/** The last that was said of each counts. */
function summaryOf(found: LookedUp | undefined, changes: Standing[]): object {
  const templates = new Map<string, object>()
  for (const { template } of changes) {
    if (template === undefined) continue
    const key = JSON.stringify([template.name, template.language])
    templates.set(key, { ...templates.get(key), ...template })
  }
  const peopleADay = changes.findLast((one) => one.peopleADay !== undefined)?.peopleADay
  return {
    templates: [...templates.values()],
    isQualityLow: changes.findLast((one) => one.isQualityLow !== undefined)?.isQualityLow === true,
    isRestricted: changes.some(({ isRestricted }) => isRestricted === true),
    peopleADay: peopleADay === undefined ? (found?.peopleADay ?? null) : peopleADay,
  }
}

async function lookUp(
  http: Pick<HttpClient, 'send'>,
  { channel, provider }: { channel: Channel; provider: Provider },
): Promise<LookedUp> {
  const { rates, standing } = provider.outbound
  const found = sendSettings(provider, channel.config)
  const at = new Date()
  if (rates?.lookup === undefined || 'lacking' in found) return { at }
  const { request, read } = rates.lookup
  try {
    const call = { ...request(found.settings), timeoutMs: LOOKUP_MS, maxBytes: MAX_BYTES }
    const response = await http.send(call)
    return { at, perSecond: read(response), peopleADay: standing?.peopleADay(jsonOrUndefined(response.body)) }
  } catch {
    return { at }
  }
}
