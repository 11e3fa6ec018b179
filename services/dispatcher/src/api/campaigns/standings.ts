import { channelNumber } from '@parley/shared/channel-settings'
import type { JsonObject } from '@parley/shared/json-object'
import { jsonOrUndefined, parseExact } from '@parley/shared/parse-json'
import { sendSettings } from '@parley/shared/providers/complete-settings'
import type { ProviderRequest } from '@parley/shared/providers/http'
import type { Standing } from '@parley/shared/providers/outbound'
import type { Provider } from '@parley/shared/providers/provider'
import { providerNamed } from '@parley/shared/providers/registry'
import type { Settings } from '@parley/shared/providers/setting'
import { settingsFor } from '@parley/shared/providers/settings'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Channel, Channels } from '../../channels/channels.ts'
import type { HttpClient, HttpResponse } from '../../channels/http/http-client.ts'
import type { Collections } from '../../store/collections.ts'

/** A channel by its external id, and from when on what happened at its provider counts. */
export const standingQuery = z.object({ channel: z.string().max(1_024), since: z.iso.datetime() })

const MAX_NUMBERS = 1_000
const FRESH_MS = 10 * 60_000
/** A provider that did not answer is asked again. */
const RETRY_MS = 60_000
const LOOKUP_MS = 10_000
const MAX_BYTES = 16 * 1024
const MAX_NOTICES = 200
const QUERY_MS = 2_000

/** The present sending limits of a channel's number. */
export interface Standings {
  read(workspace: number, asked: z.output<typeof standingQuery>): Promise<object>
}

interface LookedUp {
  /** When the provider has said it, and when it was asked last. */
  at: Date
  askedAt: Date
  perSecond?: number | undefined
  isQualityLow?: boolean | undefined
  peopleADay?: number | null | undefined
  /** The owner of the account. */
  owner?: string | undefined
}

interface Asked {
  channel: Channel
  provider: Provider
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
  const lookedUp = new LRUCache<string, LookedUp, Asked>({
    max: MAX_NUMBERS,
    ttl: FRESH_MS,
    ignoreFetchAbort: true,
    fetchMethod: async (_key, last, { context, options }) => {
      const { isWhole, ...found } = await lookUp(http, context, last)
      if (!isWhole) options.ttl = RETRY_MS
      return found
    },
  })
  /** Looks up the provider's data about a number since a time, or for a minute. */
  const find = async (key: string, context: Asked, from: Date) => {
    const known = await lookedUp.fetch(key, { context })
    const isOld = known !== undefined && known.at < from && Date.now() - known.askedAt.getTime() > RETRY_MS
    return isOld ? lookedUp.fetch(key, { context, forceRefresh: true }) : known
  }
  return {
    async read(workspace, { channel: extId, since }) {
      const channel = await channels.find(workspace, extId)
      const provider = providerNamed(channel?.callback)
      if (channel === undefined) return { hasChannel: false }
      if (provider === undefined) return { hasChannel: true }
      const { rates, standing } = provider.outbound
      const settings = settingsOf({ channel, provider })
      const number = settings && rates?.keyOf(settings)
      const named = settings?.businessAccountId
      const context = { channel, provider }
      const from = new Date(since)
      const found = await find(`${workspace}/${channel._id}/${number}/${named}`, context, from)
      const account = found?.owner ?? named ?? number
      // The limit of a number outlives a campaign: notices count from the time at which the provider was asked.
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
        const counts = receivedAt >= from ? change : peopleADay === undefined ? undefined : { peopleADay }
        return counts === undefined ? [] : { ...counts, receivedAt }
      })
      return { hasChannel: true, account, ...summaryOf(found, changes), perSecond: rateOf(context, found) }
    },
  }
}

/** Returns the settings for sending, and the account, which sending does not need; undefined where one is missing. */
function settingsOf({ channel: { config }, provider }: Asked): Settings | undefined {
  const found = sendSettings(provider, config)
  if ('lacking' in found) return undefined
  const all = settingsFor('send', provider, { config: config as JsonObject, open: (text) => text })
  return { ...all, ...found.settings }
}

function rateOf({ channel, provider }: { channel: Channel; provider: Provider }, found?: LookedUp) {
  const said = channelNumber(channel.config, 'messagesPerSecond')
  return said > 0 ? said : (found?.perSecond ?? provider.outbound.rates?.perSecond)
}

/** The last that was said of each counts. */
function summaryOf(found: LookedUp | undefined, changes: (Standing & { receivedAt: Date })[]): object {
  const templates = new Map<string, object>()
  for (const { template } of changes) {
    if (template === undefined) continue
    const key = JSON.stringify([template.name, template.language])
    templates.set(key, { ...templates.get(key), ...template })
  }
  const peopleADay = changes.findLast((one) => one.peopleADay !== undefined)?.peopleADay
  const quality = changes.findLast((one) => one.isQualityLow !== undefined)
  const isLookedUp = found?.isQualityLow === true && !(quality !== undefined && quality.receivedAt > found.at)
  return {
    templates: [...templates.values()],
    isQualityLow: quality?.isQualityLow === true || isLookedUp,
    isRestricted: changes.some(({ isRestricted }) => isRestricted === true),
    peopleADay: peopleADay === undefined ? (found?.peopleADay ?? null) : peopleADay,
  }
}

/** Asks the provider; a value that it does not report now keeps its last known state. */
async function lookUp(
  http: Pick<HttpClient, 'send'>,
  { channel, provider }: Asked,
  last: LookedUp | undefined,
): Promise<LookedUp & { isWhole: boolean }> {
  const { rates, standing } = provider.outbound
  const settings = settingsOf({ channel, provider })
  const askedAt = new Date()
  const known = { ...(last ?? { at: askedAt }), askedAt }
  if (rates?.lookup === undefined || settings === undefined) return { ...known, isWhole: true }
  const ask = async (request: ProviderRequest | undefined): Promise<HttpResponse | undefined> => {
    if (request === undefined) return undefined
    const call = { ...request, timeoutMs: LOOKUP_MS, maxBytes: MAX_BYTES }
    const response = await http.send(call).catch(() => undefined)
    return response?.status === 200 ? response : undefined
  }
  const { request, read } = rates.lookup
  const ownerRequest = standing?.owner?.request(settings)
  const [number, account] = await Promise.all([ask(request(settings)), ask(ownerRequest)])
  const owner = account && standing?.owner?.read(jsonOrUndefined(account.body))
  return {
    ...known,
    ...(number && {
      ...{ at: askedAt, perSecond: read(number), isQualityLow: undefined, peopleADay: undefined },
      ...standing?.ofNumber(jsonOrUndefined(number.body)),
    }),
    ...(owner !== undefined && { owner }),
    isWhole: number !== undefined && (ownerRequest === undefined || account !== undefined),
  }
}
