import type { Connection } from 'mongoose'
import { z } from 'zod'
import type { RecipientRecord } from '../../store/recipient-record.ts'
import { type ConsentPurpose, purposeOf } from '../rules/eligibility.ts'
import { STOP_REASONS, type StopReason, stopReason } from '../rules/stop-rules.ts'
import type { CampaignRecord } from '../store/campaign-record.ts'
import { type CampaignChannel, type CampaignServices, findChannel } from './campaign-parts.ts'

const QUERY_MS = 5_000
/** Where nothing is known of the number. */
const PER_SECOND = 80
/** Of its number's rate, so that conversations have room. */
const SHARE = 0.8

/** The known properties of a template; each is undefined where it is not known. */
interface KnownTemplate {
  status?: string | undefined
  category?: string | undefined
  quality?: string | undefined
  /** The shape of its parameters. */
  shape?: string | undefined
}

export type FindTemplate = (
  connection: Connection,
  asked: { workspace: number; channel: number; name: string; language: string },
) => Promise<KnownTemplate | undefined>

/** The facts that decide about a campaign's next send. */
export interface CampaignFacts {
  channel: CampaignChannel | undefined
  purpose: ConsentPurpose
  template: KnownTemplate | undefined
  /** Why it stops by itself; undefined while nothing speaks against sending. */
  stop: StopReason | undefined
  perSecond: number
  /** The account whose limit of people counts, and that limit; null for none. */
  account: string | undefined
  peopleADay: number | null
}

const standing = z.object({
  hasChannel: z.boolean(),
  account: z.string().optional(),
  perSecond: z.number().optional(),
  peopleADay: z.number().nullish(),
  isQualityLow: z.boolean().optional(),
  isRestricted: z.boolean().optional(),
  templates: z
    .array(
      z.object({
        name: z.string(),
        language: z.string(),
        status: z.string().optional(),
        quality: z.string().optional(),
      }),
    )
    .optional(),
})

/** Gathers the facts anew. Rejects with `unavailable`. */
export async function readFacts(
  services: CampaignServices & { findTemplate: FindTemplate },
  campaign: CampaignRecord,
): Promise<CampaignFacts> {
  const {
    workspace,
    channel: channelId,
    definition,
    shape,
    categories,
    since = campaign.createdAt,
  } = campaign
  const channel = await findChannel(services, { workspace, channel: channelId })
  const known = await services.findTemplate(services.connection, {
    ...{ workspace, channel: channelId },
    ...definition.template,
  })
  if (channel === undefined)
    return { ...NOTHING, purpose: purposeOf(known?.category), template: known, stop: 'channel_missing' }
  const path = `/internal/workspaces/${workspace}/campaigns/standing`
  const response = await services.dispatcher.post(path, {
    channel: channel.extId,
    since: since.toISOString(),
  })
  const found = standing.parse(response)
  const noticed = found.templates?.find(
    ({ name, language }) => name === definition.template.name && language === definition.template.language,
  )
  const template = mergedTemplate(known, noticed)
  const recent = await readRecent(services, campaign, since)
  const stop = stopReason({
    hasChannel: found.hasChannel,
    template,
    ...{ shape, category: categories?.at(-1) },
    isQualityLow: found.isQualityLow === true,
    isRestricted: found.isRestricted === true,
    causes: recent.flatMap(({ cause }) => STOP_REASONS.find((reason) => reason === cause) ?? []),
    refusals: recent.filter(isRefused).length,
    optOuts: recent.filter(({ optedOutAt }) => optedOutAt !== undefined).length,
    limits: definition.stopAt,
  })
  const most = (found.perSecond ?? PER_SECOND) * SHARE
  return {
    ...{ channel, purpose: purposeOf(template?.category), template, stop },
    perSecond: Math.min(most, definition.messagesPerSecond ?? most),
    account: found.account,
    peopleADay: found.peopleADay ?? null,
  }
}

const NOTHING = { channel: undefined, perSecond: 0, account: undefined, peopleADay: null }

/** Merges both: the provider's latest notice takes precedence over the synchronised values. */
function mergedTemplate(
  known: KnownTemplate | undefined,
  noticed: { status?: string | undefined; quality?: string | undefined } | undefined,
): KnownTemplate | undefined {
  if (known === undefined && noticed === undefined) return undefined
  const { status = known?.status, quality = known?.quality } = noticed ?? {}
  return { ...known, status, quality }
}

type Recent = Pick<RecipientRecord, 'state' | 'reason' | 'cause' | 'optedOutAt'>

/** True if a message was refused. A person who had opted out before counts as no refusal of this campaign. */
const isRefused = ({ state, reason }: Recent): boolean =>
  (state === 'failed' || state === 'dead') && reason !== 'opted_out'

/** The latest messages since a campaign began or was resumed. */
async function readRecent(
  { collections }: Pick<CampaignServices, 'collections'>,
  { _id, definition }: CampaignRecord,
  since: Date,
): Promise<Recent[]> {
  const projection = { state: 1, reason: 1, cause: 1, optedOutAt: 1 }
  return collections.recipients
    .find({ campaign: _id, claimedAt: { $gte: since } }, { projection, maxTimeMS: QUERY_MS })
    .sort({ claimedAt: -1 })
    .limit(definition.stopAt.of)
    .toArray()
}
